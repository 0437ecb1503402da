// Installs all packages from their tarballs into an empty project, as a user would, and uses them: every entry point is
// imported, every program run, a frame put and read. With `--node 24`, or the path of a Node, the same again on that one.
import { strict as assert } from 'node:assert';
import { posix } from 'node:path';
import { parseArgs } from 'node:util';
import { createEmptyProject, provideNode } from './empty-project.js';
import { LOCAL_LISTENERS } from './local-listeners.js';
import { pack, packageFolders, temporaryDirectory } from './pack.js';

const { values } = parseArgs({ options: { node: { type: 'string', multiple: true, default: [] } } });
const directory = temporaryDirectory();
const packages = packageFolders().map((folder) => pack(folder, directory));

/** Imports every entry point. A secondary one may need an optional peer: none is installed here. */
function checkImports(project, manifests) {
  const entries = manifests.flatMap(({ name, exports, peerDependenciesMeta = {} }) =>
    Object.keys(exports ?? {})
      .filter((entry) => entry !== './package.json')
      .map((entry) => ({
        specifier: posix.join(name, entry),
        optional:
          entry === '.' ? [] : Object.keys(peerDependenciesMeta).filter((peer) => peerDependenciesMeta[peer].optional),
      })),
  );
  const { ok, output } = project.runCode(`
    for (const { specifier, optional } of ${JSON.stringify(entries)}) {
      await import(specifier).catch((error) => {
        if (!optional.some((peer) => error.message.includes("'" + peer + "'"))) throw error;
      });
    }`);
  assert(ok, `An entry point cannot be imported:\n${output}`);
}

function checkBinaries(project, { bin = {}, version }) {
  for (const name of Object.keys(bin)) {
    const versionRun = project.run(project.binary(name), ['--version']);
    assert(
      versionRun.ok && versionRun.output.includes(version),
      `${name} --version does not print ${version}:\n${versionRun.output}`,
    );
    const help = project.run(project.binary(name), ['--help']);
    assert(help.ok && help.output.includes(name), `${name} --help does not print its usage:\n${help.output}`);
  }
}

/** End to end: a server is started, one program puts a frame and another reads it, over HTTP and from the command line. */
async function checkServing(project) {
  const options = { ready: /"message":"ready".*\n/, env: { SERVICE_LOG_FORMAT: 'json' } };
  const server = await project.start(project.binary('server'), LOCAL_LISTENERS, options);
  const url = /"http":"([^"]+)"/.exec(server.output())?.[1];
  const svc = (...rest) => project.run(project.binary('svc'), rest, { SVC_URL: url });
  try {
    const put = await fetch(`${url}/frames/trades`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: '[{"id":9007199254740993,"symbol":"BTC"},{"id":2,"symbol":null}]',
    });
    assert.equal(put.status, 201, await put.text());
    const read = await fetch(`${url}/exec?handle=trades&fmt=json`);
    assert.equal(
      await read.text(),
      '{"query":"handle:trades","columns":[{"name":"id","type":"LONG"},{"name":"symbol","type":"STRING"}],' +
        '"dataset":[[9007199254740993,"BTC"],[2,null]],"count":2}',
    );
    const ping = svc('ping');
    assert(ping.ok, `svc ping failed:\n${ping.output}`);
    const get = svc('get', 'trades');
    assert(get.ok && get.output.includes('9007199254740993'), `svc get does not show the frame:\n${get.output}`);
  } finally {
    const ended = await server.stop();
    assert.equal(ended, 0, `The server did not stop as it should:\n${server.output()}`);
  }
}

async function checkOn(version) {
  const project = createEmptyProject(directory, provideNode(version, directory));
  project.install(packages.map(({ tarball }) => tarball));
  const manifests = packages.map(({ manifest }) => manifest);
  checkImports(project, manifests);
  for (const manifest of manifests) checkBinaries(project, manifest);
  await checkServing(project);
  return project.runCode('console.log(process.version)').output;
}

try {
  const versions = [];
  for (const version of [undefined, ...values.node]) versions.push(await checkOn(version));
  console.log(
    `${packages.length} packages install from their tarballs into an empty project, and work on Node ${versions.join(' and ')}.`,
  );
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
