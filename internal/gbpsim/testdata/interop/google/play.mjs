// Google's own client packages read and write a store, as a program would that knows nothing of a simulator. Prints what they got.
import { OAuth2Client } from "google-auth-library";
import { mybusinessaccountmanagement } from "@googleapis/mybusinessaccountmanagement";
import { mybusinessbusinessinformation } from "@googleapis/mybusinessbusinessinformation";
import { businessprofileperformance } from "@googleapis/businessprofileperformance";

const { client, secret, refresh, category } = JSON.parse(process.argv[2]);
const auth = new OAuth2Client({ clientId: client, clientSecret: secret, forceRefreshOnFailure: true });
auth.setCredentials({ refresh_token: refresh });
const accounts = mybusinessaccountmanagement({ version: "v1", auth });
const information = mybusinessbusinessinformation({ version: "v1", auth });
const performance = businessprofileperformance({ version: "v1", auth });
// There is no package for posts, reviews and photos (v4): the authorized client sends what the reference says.
const v4 = async (method, path, data, params) => (await auth.request({ url: `https://mybusiness.googleapis.com/v4/${path}`, method, data, params })).data;
const refused = async (call) => {
  try {
    return { unexpected: (await call()).data };
  } catch (e) {
    const said = e.response?.data?.error ?? e.response?.data;
    return { status: e.status ?? e.response?.status, word: said?.status, message: said?.message ?? String(e) };
  }
};

const got = {};
got.accounts = (await accounts.accounts.list({})).data.accounts;
const group = got.accounts.find((a) => a.type === "LOCATION_GROUP").name;
got.account = (await accounts.accounts.get({ name: group })).data;

got.locations = [];
for (let pageToken; ; ) {
  const page = (await information.accounts.locations.list({ parent: group, readMask: "name,title,storeCode", pageSize: 3, pageToken })).data;
  got.locations.push(...page.locations);
  pageToken = page.nextPageToken;
  if (!pageToken) break;
}
const name = got.locations[0].name;
const place = `${group}/${name}`;

got.patched = (await information.locations.patch({ name, updateMask: "labels,specialHours", requestBody: {
  labels: ["年末", "Terrace"], specialHours: { specialHourPeriods: [{ startDate: { year: 2026, month: 12, day: 31 }, closed: true }] },
} })).data;
got.checked = (await information.locations.patch({ name, updateMask: "title", validateOnly: true, requestBody: { title: "Only a check" } })).status;
got.read = (await information.locations.get({ name, readMask: "title,labels,specialHours,regularHours,metadata" })).data;
got.updated = (await information.locations.getGoogleUpdated({ name, readMask: "title" })).data;
got.written = (await information.locations.updateAttributes({ name: `${name}/attributes`, attributeMask: "attributes/has_takeout", requestBody: {
  name: `${name}/attributes`, attributes: [{ name: "attributes/has_takeout", valueType: "BOOL", values: [true] }],
} })).data;
got.attributes = (await information.locations.getAttributes({ name: `${name}/attributes` })).data;
got.known = (await information.attributes.list({ categoryName: category, regionCode: "JP", languageCode: "ja", pageSize: 200 })).data.attributeMetadata.length;
got.categories = (await information.categories.batchGet({ names: [category], regionCode: "JP", languageCode: "ja", view: "BASIC" })).data.categories;
got.metrics = (await performance.locations.fetchMultiDailyMetricsTimeSeries({
  location: name, dailyMetrics: ["CALL_CLICKS", "WEBSITE_CLICKS"],
  "dailyRange.startDate.year": 2026, "dailyRange.startDate.month": 10, "dailyRange.startDate.day": 1, "dailyRange.endDate.year": 2026, "dailyRange.endDate.month": 10, "dailyRange.endDate.day": 3,
})).data;

got.post = await v4("POST", `${place}/localPosts`, { languageCode: "ja", topicType: "STANDARD", summary: "Google のクライアントからの投稿です。" });
got.changed = await v4("PATCH", got.post.name, { summary: "書き直した投稿です。" }, { updateMask: "summary" });
got.posts = (await v4("GET", `${place}/localPosts`)).localPosts;
got.reviews = (await v4("GET", `${place}/reviews`, undefined, { pageSize: 50 })).reviews;
const open = got.reviews.find((r) => !r.reviewReply);
got.reply = await v4("PUT", `${open.name}/reply`, { comment: "ありがとうございます。" });
got.answered = await v4("GET", open.name);
got.photo = await v4("POST", `${place}/media`, { mediaFormat: "PHOTO", locationAssociation: { category: "EXTERIOR" }, sourceUrl: "https://komorebi-coffee.example/front.jpg" });
const second = await v4("POST", `${place}/localPosts`, { languageCode: "ja", topicType: "STANDARD", summary: "すぐ消す投稿です。" });
got.deleted = await v4("DELETE", second.name);

got.noMask = await refused(() => information.locations.patch({ name, requestBody: { title: "x" } }));
got.noPost = await refused(() => auth.request({ url: `https://mybusiness.googleapis.com/v4/${second.name}` }));
got.badPost = await refused(() => auth.request({ url: `https://mybusiness.googleapis.com/v4/${place}/localPosts`, method: "POST", data: { topicType: "STANDARD", summary: "x".repeat(1501) } }));
got.badField = await refused(() => information.locations.patch({ name, updateMask: "title", requestBody: { name2: "x" } }));

// The access token stops working in the middle: the client gets itself another one.
const before = auth.credentials.access_token;
auth.setCredentials({ refresh_token: refresh, access_token: "ya29.no-longer", expiry_date: Date.now() + 3_000_000 });
got.renewed = (await information.locations.get({ name, readMask: "title" })).data.title;
got.another = auth.credentials.access_token !== "ya29.no-longer" && Boolean(before);
process.stdout.write(JSON.stringify(got));
