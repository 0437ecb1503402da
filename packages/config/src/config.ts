import type { Setting } from './setting.ts';
import type { SETTINGS } from './settings.ts';
import type { Source } from './source.ts';

type Table = typeof SETTINGS;

type ValueOf<S> = S extends Setting<infer T, infer D> ? T | Extract<D, undefined> : never;

/** The values of all settings, by section and key; undefined = not set. */
export type Config = {
  readonly [Section in keyof Table]: {
    readonly [Key in keyof Table[Section]]: ValueOf<Table[Section][Key]>;
  };
};

/** Where each value of a `Config` came from, in the same shape. */
export type Sources = {
  readonly [Section in keyof Table]: { readonly [Key in keyof Table[Section]]: Source };
};
