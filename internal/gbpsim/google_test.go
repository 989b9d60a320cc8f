package gbpsim_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/mybusinessaccountmanagement/v1"
	"google.golang.org/api/mybusinessbusinessinformation/v1"
	"google.golang.org/api/option"

	"github.com/mappy-dev/mappy-mcp/internal/gbpsim"
)

// tokens is the official oauth2 refresh against the simulator.
func (b *bench) tokens(ctx context.Context) oauth2.TokenSource {
	c := oauth2.Config{ClientID: "client", ClientSecret: "hush", Endpoint: oauth2.Endpoint{TokenURL: b.base + "/" + tokenHost + "/token", AuthStyle: oauth2.AuthStyleInParams}}
	return c.TokenSource(ctx, &oauth2.Token{RefreshToken: gbpsim.DemoRefreshToken})
}

func TestGoogleAccountsPackage(t *testing.T) {
	t.Parallel()
	b, ctx := setup(t, gbpsim.Options{Strict: true}), t.Context()
	svc := must(mybusinessaccountmanagement.NewService(ctx, option.WithEndpoint(b.base+"/"+acctHost+"/"), option.WithTokenSource(b.tokens(ctx))))
	list := must(svc.Accounts.List().PageSize(50).Do())
	var got []string
	for _, a := range list.Accounts {
		got = append(got, a.Name+" "+a.Type)
	}
	if d := cmp.Diff([]string{string(gbpsim.DemoPersonal) + " PERSONAL", string(gbpsim.DemoGroup) + " LOCATION_GROUP"}, got); d != "" {
		t.Errorf("accounts (-want +got):\n%s", d)
	}
	groups := must(svc.Accounts.List().Filter("type=LOCATION_GROUP").Do())
	if len(groups.Accounts) != 1 || groups.Accounts[0].AccountName != "こもれび珈琲" {
		t.Errorf("filtered: %+v", groups.Accounts)
	}
	one := must(svc.Accounts.Get(string(gbpsim.DemoGroup)).Do())
	if one.AccountNumber != "118063792240987654323" {
		t.Errorf("get: %+v", one)
	}
	paged := 0
	err := svc.Accounts.List().PageSize(1).Pages(ctx, func(r *mybusinessaccountmanagement.ListAccountsResponse) error {
		paged += len(r.Accounts)
		return nil
	})
	if err != nil || paged != 2 {
		t.Errorf("pages: %d accounts, %v", paged, err)
	}
}

func TestGoogleLocationsPackage(t *testing.T) {
	t.Parallel()
	b, ctx := setup(t, gbpsim.Options{Strict: true}), t.Context()
	svc := must(mybusinessbusinessinformation.NewService(ctx, option.WithEndpoint(b.base+"/"+v1Host+"/"), option.WithTokenSource(b.tokens(ctx))))
	if err := b.sim.SetKnobs(gbpsim.Knobs{EmptyPages: true}); err != nil {
		t.Fatal(err)
	}
	const mask = "name,title,storeCode,languageCode,phoneNumbers,storefrontAddress,websiteUri,regularHours,labels,openInfo,metadata,profile,categories"
	var all []*mybusinessbusinessinformation.Location
	pages := 0
	err := svc.Accounts.Locations.List("accounts/-").ReadMask(mask).PageSize(3).OrderBy("storeCode desc").Pages(ctx, func(r *mybusinessbusinessinformation.ListLocationsResponse) error {
		all = append(all, r.Locations...)
		pages++
		return nil
	})
	if err != nil || len(all) != 4 || pages != 4 {
		t.Fatalf("%d locations on %d pages, %v", len(all), pages, err)
	}
	var codes []string
	for _, l := range all {
		codes = append(codes, l.StoreCode)
	}
	if d := cmp.Diff([]string{"SHINJUKU001", "SHIBUYA001", "IKEBUKURO001", "GINZA001"}, codes); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
	shibuya := must(svc.Locations.Get(string(b.store[0])).ReadMask(mask).Do())
	if shibuya.Title != "こもれび珈琲 渋谷店" || shibuya.PhoneNumbers.PrimaryPhone != "03-1000-0000" || shibuya.StorefrontAddress.Locality != "渋谷区" ||
		len(shibuya.RegularHours.Periods) != 7 || shibuya.RegularHours.Periods[0].OpenTime.Hours != 7 || !shibuya.Metadata.HasVoiceOfMerchant ||
		shibuya.OpenInfo.Status != "OPEN" || shibuya.WebsiteUri != "https://komorebi-coffee.example/stores/shibuya001" || shibuya.Profile.Description == "" {
		t.Errorf("get: %+v", shibuya)
	}
	narrow := must(svc.Locations.Get(string(b.store[0])).ReadMask("metadata.placeId,metadata.maps_uri").Do())
	if narrow.Title != "" || narrow.Metadata.PlaceId == "" || narrow.Metadata.MapsUri == "" || narrow.Metadata.HasVoiceOfMerchant {
		t.Errorf("masked: %+v", narrow)
	}
	personal := must(svc.Accounts.Locations.List(string(gbpsim.DemoPersonal)).ReadMask("name").Do())
	if len(personal.Locations) != 0 {
		t.Errorf("a PERSONAL account lists the group's stores: %d", len(personal.Locations))
	}
	_, err = svc.Accounts.Locations.List("accounts/-").Do()
	var bad *googleapi.Error
	if !errors.As(err, &bad) || bad.Code != 400 || len(bad.Details) != 1 {
		t.Errorf("without a mask: %v", err)
	}
}

func TestGoogleRefreshError(t *testing.T) {
	t.Parallel()
	b := setup(t, gbpsim.Options{})
	if err := b.sim.Revoke(gbpsim.DemoEmail); err != nil {
		t.Fatal(err)
	}
	_, err := b.tokens(t.Context()).Token()
	var bad *oauth2.RetrieveError
	if !errors.As(err, &bad) || bad.ErrorCode != "invalid_grant" || bad.Response.StatusCode != 400 {
		t.Errorf("refresh: %v", err)
	}
}
