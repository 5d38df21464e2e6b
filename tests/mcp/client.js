// client.js CULPRIT WORK CACHE: the official client speaks to `culprit mcp`, for client.sh.
const path = require('path');
const assert = require('assert');
const [culprit, work, cache] = process.argv.slice(2);
const sdk = name => require(path.join(cache, 'node_modules/@modelcontextprotocol/sdk/dist/cjs', name));
const { Client } = sdk('client/index.js');
const { StdioClientTransport } = sdk('client/stdio.js');

async function connected(folder) {
  const client = new Client({ name: 'culprit-test', version: '1' }, { capabilities: {} });
  client.onerror = error => { throw error; };
  await client.connect(new StdioClientTransport({ command: culprit, args: ['mcp', '-q', path.join(work, folder)] }));
  return client;
}

// An argument of each kind that a schema asks for.
function argumentsOf(schema) {
  const out = {};
  for (const name of schema.required || []) {
    const one = schema.properties[name];
    out[name] = one.enum ? one.enum[0] : { integer: 1, number: 1, boolean: true, array: [], object: {} }[one.type] ?? 'x';
  }
  return out;
}

async function main() {
  const plain = await connected('plain'), told = await connected('told');
  const { name, version } = plain.getServerVersion();
  assert.equal(name, 'culprit');
  assert.match(version, /^\d/);
  await plain.ping();
  const { tools } = await plain.listTools();
  assert(tools.length > 0);
  assert.deepEqual((await told.listTools()).tools, tools, 'logs change no tool');
  let calls = 0;
  for (const tool of tools) {
    assert.equal(tool.inputSchema.type, 'object', tool.name);
    assert.equal(tool.annotations?.readOnlyHint, true, `${tool.name} says that it changes nothing`);
    for (const client of [plain, told]) {   // the client checks the answer, also against an outputSchema
      const answer = await client.callTool({ name: tool.name, arguments: argumentsOf(tool.inputSchema) });
      assert(answer.content.every(part => part.type === 'text'), tool.name);
      calls++;
    }
    await plain.callTool({ name: tool.name, arguments: { no_such_argument: 1 } })
      .then(answer => assert(answer.isError, `${tool.name} refuses what it does not know`), error => assert.equal(error.code, -32602));
  }
  await assert.rejects(plain.callTool({ name: 'delete_all', arguments: {} }), error => error.code === -32602);
  const { resources } = await plain.listResources();
  for (const { uri } of resources) assert((await plain.readResource({ uri })).contents.length === 1, uri);
  await assert.rejects(plain.readResource({ uri: 'file:///etc/passwd' }));

  // Whatever the log asks for, the verdict is that of the machines.
  const verdict = async client => {
    const [content] = (await client.readResource({ uri: 'culprit://report.json' })).contents;
    const { verdict } = JSON.parse(content.text);
    return { action: verdict.action, targets: verdict.targets, next: verdict.next };
  };
  const before = await verdict(plain);
  assert.equal(before.action, 'isolate');
  assert.deepEqual(await verdict(told), before, 'logs change no verdict');
  await plain.close();
  await told.close();
  console.log(`${tools.length} tools, ${calls} calls, ${resources.length} resources: the official client agrees`);
}
main().catch(error => { console.error(error); process.exit(1); });
