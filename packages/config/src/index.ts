/**
 * The settings of the server, from flags, environment and TOML file, driven by one table.
 *
 * ```ts
 * import { homedir } from 'node:os';
 * import { formatProblems, loadConfig } from '@svc/config';
 *
 * const loaded = loadConfig({ name: 'service', argv: process.argv.slice(2), env: process.env, homeDir: homedir() });
 * if (loaded.kind === 'problems') process.stderr.write(formatProblems(loaded.problems));
 * if (loaded.kind === 'config') loaded.config.server.grpc_port; // 50052
 * ```
 */
export {
  type Address,
  formatAddress,
  isLoopback,
  LOG_LEVELS,
  type LogLevel,
  type SettingValue,
  type ValueType,
} from './value-type.ts';
export type { Config, Sources } from './resolve-settings.ts';
export type { ReadFile } from './config-file.ts';
export type { Variables } from './environment.ts';
export { formatConfig, formatHelp, type FormatHelpOptions, formatProblems, formatSettingsReference } from './format.ts';
export { loadConfig, type LoadConfigOptions, type LoadConfigResult, type LoadedConfig } from './load-config.ts';
export { type FlagSpec, type FlagToken, parseFlags } from './flags.ts';
export type { SchedulerUrl } from './scheduler-url.ts';
export type { DerivedDefault, Facts, ForeignVariable, Setting } from './setting.ts';
export { SETTINGS } from './settings.ts';
export { describeSource, type Finding, type Source } from './source.ts';
