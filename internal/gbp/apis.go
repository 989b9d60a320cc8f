package gbp

// The Google APIs beside APIMyBusiness, as quotas are kept by them.
const (
	// APIBusinessInformation is the API of locations and their attributes.
	APIBusinessInformation = "mybusinessbusinessinformation.v1"
	// APIPerformance is the API of daily metrics.
	APIPerformance = "businessprofileperformance.v1"
)
