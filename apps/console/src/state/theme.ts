import { computed, effect, signal } from '@preact/signals';
import type { AppState, ThemeChoice } from './app-state.ts';
import type { Store } from './store.ts';

/** Whether the operating system prefers dark colours, and a way to follow it. */
export interface ColorScheme {
  readonly isDark: () => boolean;
  readonly onChange: (listener: () => void) => void;
}

/** The theme on the page: what the user chose, or what the operating system prefers. */
export function createTheme(
  store: Store,
  scheme: ColorScheme,
): Pick<AppState, 'theme' | 'themeChoice' | 'toggleTheme'> {
  const saved = store.read('theme');
  const themeChoice = signal<ThemeChoice>(saved === 'light' || saved === 'dark' ? saved : 'system');
  const isDark = signal(scheme.isDark());
  scheme.onChange(() => (isDark.value = scheme.isDark()));
  effect(() => {
    if (themeChoice.value === 'system') store.remove('theme');
    else store.write('theme', themeChoice.value);
  });
  const theme = computed(() => {
    if (themeChoice.value !== 'system') return themeChoice.value;
    return isDark.value ? 'dark' : 'light';
  });
  const toggleTheme = (): void => {
    const wanted = theme.value === 'dark' ? 'light' : 'dark';
    themeChoice.value = (wanted === 'dark') === isDark.value ? 'system' : wanted;
  };
  return { themeChoice, theme, toggleTheme };
}
