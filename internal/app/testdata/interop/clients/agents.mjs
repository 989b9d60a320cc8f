// The OpenAI Agents SDK: a run of an agent whose model only asks for the call in hand, and is then shown its result. It
// hands on neither structure nor the mark of an error, and gives names without dots to its model.
import { Agent, MCPServerStreamableHttp, Runner, Usage, getAllMcpTools } from '@openai/agents';

export async function connect(url, headers) {
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
            : [{ type: 'function_call', callId: '1', name, arguments: JSON.stringify(args), status: 'completed' }];
          return { usage: new Usage(), output };
        },
      };
      await runner.run(new Agent({ name: 'interop', model, mcpServers: [server] }), 'go');
      const { output } = requests[1].input.find((item) => item.type === 'function_call_result');
      const text = [output].flat().map((part) => part.text).join('\n');
      // A result with a link beside its text is shown as one text, the JSON of its content.
      const content = text.startsWith('[') ? JSON.parse(text) : [{ type: 'text', text }];
      return { content, model: text };
    },
  };
  return { client };
}
