import type { SettingValue, ValueType } from './value-type.ts';

/** The context of derived defaults. */
export interface Facts {
  /** True if the log goes to a terminal. */
  readonly isTerminal: boolean;
  /** The value of `storage.data_dir`. */
  readonly dataDir: string | undefined;
  /** The host of `server.http_bind_address`. */
  readonly httpHost: string;
  /** True if a setting names a source of callers. */
  readonly hasCallers: boolean;
}

/** A default from the context; undefined falls back to the fixed default. */
export interface DerivedDefault<T> {
  /** For the documentation, in Markdown. */
  readonly describe: string;
  /** The setting it comes from, if it comes from one. */
  readonly from?: string;
  value(facts: Facts): T | undefined;
}

/** A variable in a foreign format; `read` extracts the text of the setting, if there is one. */
export interface ForeignVariable {
  readonly name: string;
  readonly read: (text: string) => string | undefined;
}

/** A row of `SETTINGS` as it is written. */
interface SettingParts<T extends SettingValue, D extends T | undefined> {
  /** How its values are written and checked. */
  readonly type: ValueType<T>;
  /** The value if no source sets it. Default: it stays unset. */
  readonly default?: D;
  readonly derived?: DerivedDefault<T>;
  /**
   * Names of its environment variables; the first one set wins. A leading `SERVICE_` stands for the prefix of the
   * service. Default: the prefix and the path in capitals.
   */
  readonly env?: readonly (string | ForeignVariable)[];
  /** Its flag, without dashes. Default: none. */
  readonly flag?: string;
  /** What it is for, in one sentence. */
  readonly description: string;
  /** A working value. Default: `default`. */
  readonly example?: NoInfer<T>;
  /** Never printed. */
  readonly secret?: true;
}

/** One row of `SETTINGS`: the single source for parsing, help and documentation. */
export interface Setting<
  T extends SettingValue = SettingValue,
  D extends T | undefined = T | undefined,
> extends SettingParts<T, D> {
  readonly default: D;
  readonly example: NoInfer<T>;
}

/** Makes a row of `SETTINGS`; the type of the value follows from `type` and from the default. */
export function setting<T extends SettingValue, const D extends T | undefined = undefined>(
  row: SettingParts<T, D>,
): Setting<T, D> {
  const { default: value, example = value } = row;
  if (example === undefined) throw new Error('A setting without a default needs an example.');
  // Without a default, D is undefined.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { ...row, default: value as D, example };
}
