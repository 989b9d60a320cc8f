// mcp-remote, through which hosts that only start programs reach a server over HTTP. mode is the host's side of the
// bridge: an SDK 1.x host, or with "auto" one of SDK 2.x that asks for the newest protocol first.
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Client as Client2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';

export async function connect(url, headers, mode) {
  const program = {
    command: process.execPath,
    args: ['node_modules/mcp-remote/dist/proxy.js', url, '--transport', 'http-only', '--header', 'Authorization:${AUTHORIZATION}'],
    env: { ...process.env, AUTHORIZATION: headers.Authorization },
    stderr: 'pipe',
  };
  const identity = { name: 'interop-bridge', version: '1.0.0' };
  if (mode) {
    const client = new Client2(identity, { versionNegotiation: { mode } });
    await client.connect(new Stdio2(program));
    return { client, protocol: client.getNegotiatedProtocolVersion(), session: null };
  }
  const transport = new Stdio1(program);
  let protocol;
  transport.setProtocolVersion = (version) => { protocol = version; };
  const client = new Client1(identity);
  await client.connect(transport);
  return { client, protocol, session: null };
}
