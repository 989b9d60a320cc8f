// LangChain's adapter: tools that answer with a ToolMessage, or throw a ToolException with nothing but text. It holds
// arguments against the schema by itself, and does not send what does not fit.
import { MultiServerMCPClient } from '@langchain/mcp-adapters';

export async function connect(url, headers) {
  const mcp = new MultiServerMCPClient({ mcpServers: { mappy: { transport: 'http', url, headers } } });
  const tools = await mcp.getTools();
  const client = {
    listTools: async () => ({ tools: tools.map(({ name }) => ({ name })) }),
    close: () => mcp.close(),
    async callTool({ name, arguments: args }) {
      const tool = tools.find((t) => t.name === name);
      try {
        const { content, artifact } = await tool.invoke({ type: 'tool_call', id: '1', name, args });
        const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
        return { structuredContent: artifact?.find((a) => a.type === 'mcp_structured_content')?.data, content: blocks, model: textOf(blocks) };
      } catch (error) {
        const content = [{ type: 'text', text: error.message }];
        if (error.name === 'ToolException') return { isError: true, content, model: error.message };
        if (error.message.includes('did not match expected schema')) return { isError: true, content, unsent: true };
        throw error;
      }
    },
  };
  return { client };
}

const textOf = (blocks) => blocks.filter((b) => b.type === 'text').map((b) => b.text).join('\n');
