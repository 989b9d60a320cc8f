// node play.mjs '{"sdk":"./sdk1.mjs", "url":…, "mode":…, "key":…, "underscored":…}', with the token in MAPPY_TOKEN: plays the
// story with one SDK and prints what was seen as one JSON object.
import { story } from './story.mjs';

const { sdk, url, mode, ...how } = JSON.parse(process.argv[2]);
const { connect } = await import(sdk);
const requestInit = { headers: { Authorization: `Bearer ${process.env.MAPPY_TOKEN}` } };
const { client, ...connection } = await connect(new URL(url), requestInit, mode);
const seen = await story(client, how);
await client.close();
process.stdout.write(JSON.stringify({ ...connection, ...seen }));
