// The TypeScript SDK 2.x: it begins as a 2025-11-25 client unless it is told to negotiate.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

export async function connect(url, headers, mode) {
  const client = new Client({ name: 'interop-sdk2', version: '1.0.0' }, mode ? { versionNegotiation: { mode } } : {});
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  await client.connect(transport);
  return { client, protocol: client.getNegotiatedProtocolVersion(), session: Boolean(transport.sessionId) };
}
