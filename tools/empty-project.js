// A project with nothing in it, outside of this repository: where a package is tried as a user would use it.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';

const isWindows = process.platform === 'win32';

/** The path of a Node: the one that runs this, the one at a path, or the newest of a version, put under a directory. */
export function provideNode(version, directory) {
  if (version === undefined) return process.execPath;
  if (/[\\/]/.test(version)) return resolve(version);
  const name = `node-${isWindows ? 'win' : process.platform}-${process.arch}`;
  const project = createEmptyProject(directory, process.execPath);
  project.install([`${name}@${version}`]);
  return join(project.directory, 'node_modules', name, 'bin', isWindows ? 'node.exe' : 'node');
}

/** A project in a new directory under `parent`, used with the Node given by its path. */
export function createEmptyProject(parent, node) {
  const directory = mkdtempSync(join(parent, 'project-'));
  const home = join(directory, 'home');
  mkdirSync(home);
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ name: 'user', private: true, type: 'module' }));
  const ownEnvironment = { ...outerEnvironment(), PATH: `${dirname(node)}${delimiter}${process.env.PATH}` };
  const options = { cwd: directory, encoding: 'utf8', shell: isWindows };

  function run(command, args, env = {}) {
    const result = spawnSync(command, args, { ...options, timeout: 120_000, env: { ...ownEnvironment, ...env } });
    const output = `${result.stdout}${result.stderr}${result.error?.message ?? ''}`.trim();
    return { ok: result.status === 0, output };
  }

  return {
    directory,
    /** Installs packages, each given as npm takes it. */
    install(specifiers) {
      const { ok, output } = run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', ...specifiers]);
      if (!ok) throw new Error(`npm install failed:\n${output}`);
    },
    /** The names of all packages that are installed, those that others asked for included. */
    installedNames() {
      const { packages } = JSON.parse(readFileSync(join(directory, 'package-lock.json'), 'utf8'));
      return Object.keys(packages).flatMap((path) => path.split('node_modules/').slice(-1));
    },
    /** The path of the program a package brings. */
    binary: (name) => join(directory, 'node_modules/.bin', name),
    /** Runs a program to its end. */
    run,
    /** Runs some lines of JavaScript to their end. */
    runCode: (code) => run(node, ['--input-type=module', '--eval', code]),
    /** Starts a program and waits for the line, printed or logged, that says it is ready. */
    async start(command, args, { ready, env = {} }) {
      // A home of its own: no configuration of this machine reaches what is tried.
      const child = spawn(command, args, {
        ...options,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...ownEnvironment, HOME: home, ...env },
      });
      process.on('exit', () => child.kill('SIGKILL'));
      const closed = once(child, 'close');
      let output = '';
      const isReady = new Promise((done) => {
        const hear = (text) => {
          output += text;
          if (ready.test(output)) done();
        };
        child.stdout.setEncoding('utf8').on('data', hear);
        child.stderr.setEncoding('utf8').on('data', hear);
        setTimeout(done, 20_000).unref();
      });
      await Promise.race([isReady, closed]);
      if (!ready.test(output)) throw new Error(`${command} ${args.join(' ')} did not become ready:\n${output}`);
      return {
        output: () => output,
        /** Asks it to end; resolves with its exit code, or the signal it ended by. */
        async stop() {
          child.kill('SIGTERM');
          const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
          const [code, signal] = await closed;
          clearTimeout(timer);
          return code ?? signal;
        },
      };
    },
  };
}

/** Without what npm says about the project this runs in: its name, prefix or workspace must not reach the empty one. */
function outerEnvironment() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_(package|lifecycle)_/.test(name)));
}
