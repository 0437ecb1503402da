import { readBoundedFile, type ReadFile } from './bounded-file.ts';
import { caFileProblems } from './ca-file.ts';
import { checkTogether } from './checks/check-together.ts';
import type { Config, Sources } from './config.ts';
import { type ConfigFile, readConfigFile } from './config-file.ts';
import { readEnvironment, type Variables } from './environment.ts';
import { readFlags } from './flags.ts';
import { resolveSettings } from './resolve-settings.ts';
import { createServiceNames } from './service-names.ts';
import type { Finding } from './source.ts';

/** The sources that `loadConfig` reads. */
export interface LoadConfigOptions {
  /** The service's name: `service` gives the variables `SERVICE_…` and the file `~/.service/config.toml`. */
  readonly name: string;
  /** The words after the program name, as `process.argv.slice(2)`. */
  readonly argv: readonly string[];
  /** The environment, as `process.env`. */
  readonly env: Variables;
  /** The user's home directory, as `os.homedir()`; empty: there is none, and so no default file. */
  readonly homeDir: string;
  /** Whether the log goes to a terminal, as `process.stderr.isTTY`. Default: false. */
  readonly isTerminal?: boolean;
  /** Reads a file; throws what `node:fs` throws. Default: from the file system. */
  readonly readFile?: ReadFile;
}

/** A valid configuration. */
export interface LoadedConfig {
  readonly config: Config;
  readonly sources: Sources;
  /** The configuration file that was read, if there was one. */
  readonly file: string | undefined;
  readonly warnings: readonly Finding[];
}

/** What the command line asks for, or all problems of the configuration. */
export type LoadConfigResult =
  | ({ readonly kind: 'config' } & LoadedConfig)
  | ({ readonly kind: 'print-config' } & LoadedConfig)
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  | { readonly kind: 'problems'; readonly problems: readonly Finding[]; readonly warnings: readonly Finding[] };

/**
 * Reads the settings from flags, environment and TOML file (the first that has a value wins) and fills in the defaults.
 * Never throws for user input: returns all problems at once.
 */
export function loadConfig(options: LoadConfigOptions): LoadConfigResult {
  const names = createServiceNames(options.name);
  const flags = readFlags(options.argv, names);
  if (flags.asked.has('help')) return { kind: 'help' };
  if (flags.asked.has('version')) return { kind: 'version' };

  const { readFile = readBoundedFile } = options;
  const environment = readEnvironment(options.env, names);
  const file = readFirst(
    [
      { path: flags.file, namedBy: '--config' },
      { path: environment.file, namedBy: names.fileVariable },
      { path: names.defaultFileIn(options.homeDir) },
    ],
    readFile,
  );
  const given = new Map([...(file?.given ?? []), ...environment.given, ...flags.given]);
  const resolved = resolveSettings(given, options.isTerminal ?? false);
  // The settings of an unreadable file are unknown, so combinations cannot be checked.
  const together = file?.isRead === false ? { problems: [], warnings: [] } : checkTogether(resolved);

  const problems = [
    ...flags.problems,
    ...(file?.problems ?? []),
    ...resolved.problems,
    ...together.problems,
    ...caFileProblems(resolved, readFile),
  ];
  const warnings = [...environment.warnings, ...(file?.warnings ?? []), ...together.warnings];
  if (problems.length > 0 || resolved.config === undefined) return { kind: 'problems', problems, warnings };
  return {
    kind: flags.asked.has('print-config') ? 'print-config' : 'config',
    config: resolved.config,
    sources: resolved.sources,
    file: file?.path,
    warnings,
  };
}

/** Reads the first file that is named, even if it cannot be read and a later one could. */
function readFirst(files: readonly MaybeFile[], readFile: ReadFile): ConfigFile | undefined {
  const file = files.find(({ path }) => path !== undefined);
  return file?.path === undefined ? undefined : readConfigFile(file.path, file.namedBy, readFile);
}

interface MaybeFile {
  readonly path: string | undefined;
  readonly namedBy?: string;
}
