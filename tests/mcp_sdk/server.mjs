// A server of the official SDK: one tool that tells of its progress, one that fails. Over standard input and output,
// or over HTTP with a session: `server.mjs http` prints its port.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const server = new McpServer({ name: "weather", version: "1.0.0" });
let calls = 0;
server.registerTool("weather", { description: "The weather of a city", inputSchema: { city: z.string() } },
  async ({ city }, extra) => {
    const token = extra._meta?.progressToken;
    if (token !== undefined) {
      await extra.sendNotification({ method: "notifications/progress", params: { progressToken: token, progress: 1 } });
      await new Promise((resolve) => setTimeout(resolve, 100));  // The client drops progress that it reads together with its answer.
    }
    return { content: [{ type: "text", text: `${city}: ${Date.now() % 1000} degrees, call ${++calls}` }] };
  });
server.registerTool("fail", { description: "Never works", inputSchema: {} }, async () => {
  throw new Error("no such city");
});

if (process.argv[2] === "http") {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID() });
  await server.connect(transport);
  const http = createServer((request, response) => transport.handleRequest(request, response));
  http.listen(0, "127.0.0.1", () => console.log(http.address().port));
} else {
  await server.connect(new StdioServerTransport());
}
