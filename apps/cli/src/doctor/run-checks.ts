import type { ServerConfig } from '../args/server-config.ts';
import { checkConfiguration } from './check-configuration.ts';
import { checkDirectories } from './check-directories.ts';
import { checkListeners } from './check-listeners.ts';
import { checkNode } from './check-node.ts';
import { checkServer, type CheckServerOptions } from './check-server.ts';
import { checkUpstream } from './check-upstream.ts';
import type { Diagnosis } from './diagnosis.ts';

/** What the checks look at. */
export interface RunChecksOptions {
  readonly loaded: ServerConfig;
  readonly server: CheckServerOptions;
}

/** Runs every check, in the order in which one depends on another. */
export async function runChecks({ loaded, server }: RunChecksOptions): Promise<readonly Diagnosis[]> {
  const { signal } = server.client;
  const { diagnoses, config } = checkConfiguration(loaded);
  const ofConfig =
    config &&
    (await Promise.all([checkListeners(config, signal), checkDirectories(config), checkUpstream(config, signal)]));
  return [
    checkNode(process.versions.node),
    ...diagnoses,
    ...(ofConfig?.flat() ?? []),
    // Not together with the listeners: a port they try for a moment must not be taken for the server's.
    await checkServer(server),
  ];
}
