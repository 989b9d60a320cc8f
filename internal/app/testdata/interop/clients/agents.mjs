// The OpenAI Agents SDK: a run of an agent whose model only asks for the call in hand, and is then shown its result. It
// hands on neither structure nor the mark of an error, and gives names without dots to its model. With the mode "strict" it
// rewrites schemas so that a model has to send every argument, null for those that it leaves out.
import { Agent, MCPServerStreamableHttp, Runner, Usage, getAllMcpTools } from '@openai/agents';

export async function connect(url, headers, mode) {
  const strict = mode === 'strict';
  const server = new MCPServerStreamableHttp({ name: 'mappy', url, requestInit: { headers } });
  await server.connect();
  const runner = new Runner({ tracingDisabled: true });
  const client = {
    listTools: async () => ({ tools: (await getAllMcpTools([server])).map(({ name }) => ({ name })) }),
    close: () => server.close(),
    async callTool({ name, arguments: args }) {
      const requests = [];
      const model = {
        async getResponse(request) {
          requests.push(request);
          const output = requests.length > 1
            ? [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'done' }] }]
            : [{ type: 'function_call', callId: '1', name, arguments: JSON.stringify(strict ? filled(args, schemaOf(request, name)) : args), status: 'completed' }];
          return { usage: new Usage(), output };
        },
      };
      await runner.run(new Agent({ name: 'interop', model, mcpServers: [server], mcpConfig: { convertSchemasToStrict: strict } }), 'go');
      const { output } = requests[1].input.find((item) => item.type === 'function_call_result');
      const text = [output].flat().map((part) => part.text).join('\n');
      // A result with a link beside its text is shown as one text, the JSON of its content.
      const content = text.startsWith('[') ? JSON.parse(text) : [{ type: 'text', text }];
      return { content, model: text };
    },
  };
  return { client };
}

function schemaOf(request, name) {
  const tool = request.tools.find((t) => t.name === name);
  if (!tool.strict) throw new Error(`${name} was not made strict`);
  return tool.parameters;
}

// value with null for every member that its schema has and it has not.
function filled(value, schema) {
  const one = schema?.anyOf ? schema.anyOf.find((s) => s.type !== 'null') : schema;
  if (Array.isArray(value)) return value.map((v) => filled(v, one?.items));
  if (value === null || typeof value !== 'object') return value;
  const out = { ...value };
  for (const [name, member] of Object.entries(one?.properties ?? {})) out[name] = name in out ? filled(out[name], member) : null;
  return out;
}
