// Child processes of the suite: their logs, their end, and waiting until a port answers.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Starts a program that logs to a file. It ends with this process. */
export function startChild(command, args, { env, log }) {
  const output = openSync(log, 'a');
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', output, output],
  });
  const problems = [];
  child.once('error', ({ message }) => problems.push(`${command} could not be started: ${message}`));
  child.once('exit', (code) => problems.push(`${command} ended with code ${code}:\n${endOf(log)}`));
  const kill = async () => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  process.once('exit', () => child.kill('SIGKILL'));
  return {
    pid: child.pid,
    kill,
    /** Waits until a condition holds. Fails if the program ends before, or if it takes too long. */
    async until(what, isReached, timeoutMs) {
      const end = performance.now() + timeoutMs;
      while (problems.length === 0 && performance.now() < end) {
        if (await isReached()) return;
        await delay(100);
      }
      throw new Error(problems[0] ?? `${what} did not happen within ${timeoutMs} ms:\n${endOf(log)}`);
    },
  };
}

/** Whether something listens on a port of this machine. */
export function isListening(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

function endOf(log) {
  return readFileSync(log, 'utf8').slice(-4000);
}
