import { X509Certificate } from 'node:crypto';
import { type ConfigFile, readBoundedFile, readConfigFile, readFailure, type ReadFile } from './config-file.ts';
import { checkTogether } from './check-together.ts';
import { type Config, type Resolved, resolveSettings, type Sources } from './resolve-settings.ts';
import { createServiceNames, readEnvironment, type Variables } from './environment.ts';
import { readFlags } from './flags.ts';
import type { Finding } from './source.ts';

/** The sources of `loadConfig`. */
export interface LoadConfigOptions {
  /** The service's name: `service` gives the variables `SERVICE_…` and the file `~/.service/config.toml`. */
  readonly name: string;
  /** The words after the program name, as `process.argv.slice(2)`. */
  readonly argv: readonly string[];
  /** The environment, as `process.env`. */
  readonly env: Variables;
  /** The user's home directory, as `os.homedir()`; empty: there is none, and so no default file. */
  readonly homeDir: string;
  /** True if the log goes to a terminal, as `process.stderr.isTTY`. Default: false. */
  readonly isTerminal?: boolean;
  /** Reads a file; throws what `node:fs` throws. Default: from the file system. */
  readonly readFile?: ReadFile;
}

/** A valid configuration. */
export interface LoadedConfig {
  readonly config: Config;
  readonly sources: Sources;
  /** The configuration file, if one was read. */
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

/** Reads the first named file, even if it cannot be read and a later one could. */
function readFirst(files: readonly MaybeFile[], readFile: ReadFile): ConfigFile | undefined {
  const file = files.find(({ path }) => path !== undefined);
  return file?.path === undefined ? undefined : readConfigFile(file.path, file.namedBy, readFile);
}

interface MaybeFile {
  readonly path: string | undefined;
  readonly namedBy?: string;
}

/** Larger than the bundle of all authorities of a system. */
const MAX_FILE_BYTES = 2 ** 20;

/** Checks the files of certificate authorities: the start fails, not the first use. */
function caFileProblems({ draft, sources }: Resolved, readFile: ReadFile): readonly Finding[] {
  return SECTIONS.flatMap(({ section, server }) => {
    const path = draft[section].ca_file;
    const reason = path === undefined ? undefined : failureOf(path, readFile);
    if (reason === undefined) return [];
    const value = JSON.stringify(path);
    return [
      {
        source: sources[section].ca_file,
        setting: `${section}.ca_file`,
        value,
        message: `${section}.ca_file is ${value}, ${reason}.`,
        hint: `Name a PEM file with the certificate of the authority that signed the certificate of ${server}.`,
      },
    ];
  });
}

/** The sections with a `ca_file`, and the server behind each. */
const SECTIONS = [
  { section: 'tsdb', server: 'the time-series database' },
  { section: 'auth', server: 'the server of auth.jwks' },
  { section: 'scheduler', server: 'the cluster' },
  { section: 'traces', server: 'the collector' },
] as const;

function failureOf(path: string, readFile: ReadFile): string | undefined {
  let bytes: Uint8Array;
  try {
    bytes = readFile(path, MAX_FILE_BYTES);
  } catch (error) {
    return `which cannot be read: ${readFailure(error)}`;
  }
  if (bytes.length > MAX_FILE_BYTES) return `which is larger than ${MAX_FILE_BYTES} bytes`;
  return holdsCertificates(new TextDecoder().decode(bytes)) ? undefined : 'which does not contain PEM certificates';
}

/** OpenSSL accepts any text silently and then trusts no certificate, so the file is checked here. */
function holdsCertificates(pem: string): boolean {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  try {
    return blocks.length > 0 && blocks.every((block) => new X509Certificate(block).serialNumber !== '');
  } catch {
    return false;
  }
}
