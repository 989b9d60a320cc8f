// What crossed the wire: some clients tell nobody which protocol they settled on.
const last = {};
const send = globalThis.fetch;
globalThis.fetch = (input, init) => {
  const headers = new Headers(init?.headers ?? input.headers);
  for (const name of ['mcp-protocol-version', 'mcp-session-id']) {
    if (headers.has(name)) last[name] = headers.get(name);
  }
  return send(input, init);
};

export const wire = () => ({ protocol: last['mcp-protocol-version'] ?? '', session: Boolean(last['mcp-session-id']) });
