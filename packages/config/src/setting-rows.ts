import type { Setting } from './setting.ts';
import { SETTINGS } from './settings.ts';

/** A setting with its position in the table. */
export interface SettingRow {
  readonly section: string;
  readonly key: string;
  /** `section.key`. */
  readonly path: string;
  readonly setting: Setting;
}

/** The table as a list, in its order. */
export const SETTING_ROWS: readonly SettingRow[] = Object.entries(SETTINGS).flatMap(([section, settings]) =>
  Object.entries<Setting>(settings).map(([key, setting]) => ({ section, key, path: `${section}.${key}`, setting })),
);

/** The sections, in the order of the table. */
export const SECTIONS: readonly string[] = Object.keys(SETTINGS);

/** The rows of one section. */
export function rowsOf(section: string): readonly SettingRow[] {
  return SETTING_ROWS.filter((row) => row.section === section);
}
