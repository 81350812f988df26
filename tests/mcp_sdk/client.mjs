// A client of the official SDK. `client.mjs stdio COMMAND ARGUMENT...` or `client.mjs http`, then at /tools of the proxy.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [kind, command, ...args] = process.argv.slice(2);
const proxy = (process.env.OPENAI_BASE_URL ?? "").split("/openai")[0];
const transport = kind === "stdio" ? new StdioClientTransport({ command, args, env: process.env })
                                   : new StreamableHTTPClientTransport(new URL(`${proxy}/tools/mcp`));
const client = new Client({ name: "agent", version: "1.0.0" });
await client.connect(transport);
console.log((await client.listTools()).tools.map((tool) => tool.name));
const onprogress = (progress) => console.log("progress", progress.progress);
const oslo = { name: "weather", arguments: { city: "Oslo" } };
console.log(JSON.stringify(await client.callTool(oslo, undefined, { onprogress })));
console.log(JSON.stringify(await client.callTool(oslo)));
console.log(JSON.stringify(await client.callTool({ name: "fail", arguments: {} })));
try {
  console.log(JSON.stringify(await client.callTool({ name: "unknown", arguments: {} })));
} catch (error) {
  console.log("refused", error.message);
}
await client.close();
