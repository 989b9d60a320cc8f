// The TypeScript SDK 1.x, which most hosts of today are built on. It knows no protocol newer than 2025-11-25.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

export async function connect(url, headers) {
  const client = new Client({ name: 'interop-sdk1', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  await client.connect(transport);
  return { client, protocol: transport.protocolVersion, session: Boolean(transport.sessionId) };
}
