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
export { formatAddress } from './address.ts';
export type { Address } from './value-type.ts';
export type { Config, Sources } from './config.ts';
export type { ReadFile } from './bounded-file.ts';
export type { Variables } from './environment.ts';
export { formatConfig } from './format-config.ts';
export { formatHelp, type FormatHelpOptions } from './format-help.ts';
export { formatProblems } from './format-problems.ts';
export { formatSettingsReference } from './format-settings-reference.ts';
export { loadConfig, type LoadConfigOptions, type LoadConfigResult, type LoadedConfig } from './load-config.ts';
export { isLoopback } from './loopback.ts';
export { type FlagSpec, type FlagToken, parseFlags } from './parse-flags.ts';
export { LOG_LEVELS, type LogLevel } from './log-level.ts';
export type { SchedulerUrl } from './scheduler-url.ts';
export type { DerivedDefault, Facts, ForeignVariable, Setting } from './setting.ts';
export { SETTINGS } from './settings.ts';
export { describeSource, type Finding, type Source } from './source.ts';
export type { SettingValue, ValueType } from './value-type.ts';
