// A client of the official TypeScript SDK that knows the address of an endpoint and nothing else.
//
//   node agent.mjs <address> <package of the SDK> [<version of the protocol, which it then insists on>]
//
// Each line of its input is {"id", "do", ...}, and answered by a line {"id", "answer"} or {"id", "error"}. Beside that it
// says {"page"}, which its human is to open; {"http"}, an exchange of the SDK's; {"heard"}, what came on its stream.
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { Keychain } from './keychain.mjs';

const [address, library, version] = process.argv.slice(2);
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = library === '@modelcontextprotocol/sdk'
  ? { ...await import('@modelcontextprotocol/sdk/client/index.js'),
      ...await import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
      ...await import('@modelcontextprotocol/sdk/client/auth.js') }
  : await import(library);

const say = line => process.stdout.write(JSON.stringify(line) + '\n');

// Its human comes back here.
let arrived;
const callback = createServer((request, response) => {
  response.setHeader('Content-Type', 'text/html').end('<h1 id="main">You can close this window</h1>');
  const url = new URL(request.url, 'http://localhost');
  if (url.pathname === '/callback') arrived(url.searchParams);
});
await new Promise(listening => callback.listen(0, '127.0.0.1', listening));
const keychain = new Keychain(`http://127.0.0.1:${callback.address().port}/callback`, page => say({ page }));

async function observed(url, init) {
  const response = await fetch(url, init);
  say({ http: `${init?.method ?? 'GET'} ${new URL(url).pathname} ${response.status}`, stream: response.headers.get('content-type') === 'text/event-stream' });
  return response;
}

let client, transport;

async function connect() {
  client = new Client({ name: 'e2e', version: '1' }, version && { versionNegotiation: { mode: { pin: version } } });
  client.fallbackNotificationHandler = async heard => say({ heard });
  client.onerror = error => say({ trouble: String(error) });
  transport = new StreamableHTTPClientTransport(new URL(address), { authProvider: keychain, fetch: observed,
    reconnectionOptions: { initialReconnectionDelay: 100, maxReconnectionDelay: 1000, reconnectionDelayGrowFactor: 1.5, maxRetries: 1000 } });
  await client.connect(transport);
  if (version) listen();
}

// From version 2026-07-28 on it is the client's own business to listen, and to listen again.
async function listen() {
  for (;;) {
    try {
      await (await client.listen({ toolsListChanged: true })).closed;
    } catch (error) {
      say({ trouble: String(error) });
    }
    await pause(100);
  }
}

const doing = {
  async connect() {
    const answer = new Promise(resolve => arrived = resolve);
    try {
      await connect();
    } catch (error) {
      if (!(error instanceof UnauthorizedError)) throw error;
      const said = await answer;
      if (said.get('state') !== keychain.expected) throw new Error('the state is not the one that was sent');
      await transport.finishAuth(said.get('code'), said.get('iss'));
      await connect();
    }
    return { server: client.getServerVersion(), version: transport.protocolVersion ?? version };
  },
  tools: async () => (await client.listTools()).tools.map(tool => tool.name),
  call: ({ verb, args }) => client.callTool({ name: verb, arguments: args }),
  templates: async () => (await client.listResourceTemplates()).resourceTemplates.map(template => template.uriTemplate),
  read: async ({ uri }) => (await client.readResource({ uri })).contents[0],
  tokens: () => keychain.kept,
  spoil: () => keychain.kept = { ...keychain.kept, access_token: 'sbo_of_an_hour_ago' },
  leave: () => transport.terminateSession(),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, do: what, ...rest } = JSON.parse(line);
  try {
    say({ id, answer: await doing[what](rest) ?? null });
  } catch (error) {
    say({ id, error: String(error) });
  }
}
process.exit();
