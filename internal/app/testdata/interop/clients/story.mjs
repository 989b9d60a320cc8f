// The story of a write as a client plays it: look, preview, be refused, confirm, follow, repeat, err, look back. It judges
// nothing: it gives what the client was shown, and the Go test judges that against the simulator's journal.

const FINAL = ['done', 'partial', 'failed', 'cancelled'];

// What a result says: its structure, or for clients that hand on nothing but text, the JSON in the text's last line.
function said({ structuredContent, content }) {
  if (structuredContent) return structuredContent;
  const body = content.filter((c) => c.type === 'text').flatMap((c) => c.text.split('\n')).findLast((line) => line.startsWith('{'));
  const facts = JSON.parse(body);
  return facts.error_code ? facts : { data: facts };
}

export async function story(client, { key, underscored }) {
  const { tools } = await client.listTools(); // from here on the clients know the output schemas
  const call = (name, args) => client.callTool({ name: underscored ? name.replace('.', '_') : name, arguments: args });
  const seen = { tools: tools.map((tool) => tool.name) };

  seen.locations = await call('location.list', { page_size: 200 });
  const stores = said(seen.locations).data.locations.slice(0, 5).map((store) => store.location_id);
  const post = { location_ids: stores, post: { summary: '新作の抹茶ラテが始まりました。{{location.title}}でお待ちしています。' } };

  seen.preview = await call('post.create', { ...post, dry_run: true });
  seen.refused = await call('post.create', { ...post, idempotency_key: key });
  const confirmed = { ...post, idempotency_key: key, confirm_token: said(seen.refused).details.confirm_token };
  seen.accepted = await call('post.create', confirmed);

  const batch = { batch_id: said(seen.accepted).data.batch_id, wait_seconds: 25, items: 'all' };
  for (let polls = 0; polls < 4 && !(seen.final && FINAL.includes(said(seen.final).data.status)); polls++) {
    seen.final = await call('batch.status', batch);
  }
  seen.replay = await call('post.create', confirmed);
  seen.invalid = await call('post.create', { ...post, dryRun: true });
  seen.foreign = await call('post.create', { ...post, location_ids: [...stores, 99999999] });
  seen.batches = await call('batch.list', {});
  return seen;
}
