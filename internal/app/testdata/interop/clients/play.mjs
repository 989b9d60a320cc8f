// node play.mjs '{"client":"./sdk1.mjs", "url":…, "mode":…, "key":…, "underscored":…}', with the token in MAPPY_TOKEN: plays the
// story with one client and prints what was seen as one JSON object. A client is what its connect() gives: listTools(),
// callTool({name, arguments}) with what this client hands to its host and, as model, the text that a model is shown.
import { wire } from './wire.mjs';
import { story } from './story.mjs';

const { client: file, url, mode, ...how } = JSON.parse(process.argv[2]);
const { connect } = await import(file);
const headers = { Authorization: `Bearer ${process.env.MAPPY_TOKEN}` };
const { client, ...connection } = await connect(url, headers, mode);
const seen = await story(client, how);
const crossed = wire();
await client.close();
process.stdout.write(JSON.stringify({ ...crossed, ...connection, ...seen }));
