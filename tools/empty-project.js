// An empty project outside this repository, to try a package as a user would.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';

const isWindows = process.platform === 'win32';

/** Returns the path of a Node: the current one, the one at a path, or the newest of a version, installed in a directory. */
export function provideNode(version, directory) {
  if (version === undefined) return process.execPath;
  if (/[\\/]/.test(version)) return resolve(version);
  const name = `node-${isWindows ? 'win' : process.platform}-${process.arch}`;
  const project = createEmptyProject(directory, process.execPath);
  project.install([`${name}@${version}`]);
  return join(project.directory, 'node_modules', name, 'bin', isWindows ? 'node.exe' : 'node');
}

/** Creates a project in a new directory under `parent`, for the given Node. */
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
    /** Installs packages, in the notation of npm. */
    install(specifiers) {
      const { ok, output } = run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', ...specifiers]);
      if (!ok) throw new Error(`npm install failed:\n${output}`);
    },
    /** Returns the names of all installed packages, including transitive ones. */
    installedNames() {
      const { packages } = JSON.parse(readFileSync(join(directory, 'package-lock.json'), 'utf8'));
      return Object.keys(packages).flatMap((path) => path.split('node_modules/').slice(-1));
    },
    /** Returns the path of a program of a package. */
    binary: (name) => join(directory, 'node_modules/.bin', name),
    /** Runs a program to its end. */
    run,
    /** Runs some lines of JavaScript to their end. */
    runCode: (code) => run(node, ['--input-type=module', '--eval', code]),
    /** Starts a program and waits for its ready line. */
    async start(command, args, { ready, env = {} }) {
      // A separate home: no configuration of this machine must reach the program.
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
        /** Stops it; resolves with its exit code or signal. */
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

/** Removes the npm variables of this project: its name, prefix and workspace must not reach the empty one. */
function outerEnvironment() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_(package|lifecycle)_/.test(name)));
}
