import type { ServerConfig } from '../args/server-config.ts';
import { checkCallers } from './check-callers.ts';
import { checkCertificate } from './check-certificate.ts';
import { checkConfiguration } from './check-configuration.ts';
import { checkDirectories } from './check-directories.ts';
import { checkListeners } from './check-listeners.ts';
import { checkNode } from './check-node.ts';
import { checkScheduler } from './check-scheduler.ts';
import { checkServer, type CheckServerOptions } from './check-server.ts';
import { checkUpstream } from './check-upstream.ts';
import type { Diagnosis } from './diagnosis.ts';

/** The input of the checks. */
export interface RunChecksOptions {
  readonly loaded: ServerConfig;
  readonly server: CheckServerOptions;
}

/** Runs every check, in the order of their dependencies. */
export async function runChecks({ loaded, server }: RunChecksOptions): Promise<readonly Diagnosis[]> {
  const { signal } = server.client;
  const { diagnoses, config } = checkConfiguration(loaded);
  const ofConfig =
    config &&
    (await Promise.all([
      checkListeners(config, signal),
      checkDirectories(config),
      checkCallers(config),
      checkCertificate(config),
      checkUpstream(config, signal),
      checkScheduler(config, signal),
    ]));
  return [
    checkNode(process.versions.node),
    ...diagnoses,
    ...(ofConfig?.flat() ?? []),
    // Not concurrent with the listeners: a port that they open for a moment must not look like the server.
    await checkServer(server),
  ];
}
