// The AI SDK: generateText() with a model that only asks for the call in hand, and is then shown its result.
import { createMCPClient } from '@ai-sdk/mcp';
import { generateText, isStepCount } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

export async function connect(url, headers) {
  const mcp = await createMCPClient({ transport: { type: 'http', url, headers } });
  const tools = await mcp.tools();
  const client = {
    listTools: async () => ({ tools: Object.keys(tools).map((name) => ({ name })) }),
    close: () => mcp.close(),
    async callTool({ name, arguments: args }) {
      const model = new MockLanguageModelV4({
        doGenerate: [
          { content: [{ type: 'tool-call', toolCallId: '1', toolName: name, input: JSON.stringify(args) }], finishReason: { unified: 'tool-calls' }, usage, warnings: [] },
          { content: [{ type: 'text', text: 'done' }], finishReason: { unified: 'stop' }, usage, warnings: [] },
        ],
      });
      const { steps } = await generateText({ model, tools, prompt: 'go', stopWhen: isStepCount(2) });
      const { isError, structuredContent, content } = steps[0].toolResults[0].output;
      const shown = model.doGenerateCalls[1].prompt.at(-1).content[0].output.value;
      return { isError, structuredContent, content, model: shown.filter((part) => part.type === 'text').map((part) => part.text).join('\n') };
    },
  };
  return { client };
}
