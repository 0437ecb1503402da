import { defineConfig } from 'vite';

// The output is served with a strict content security policy: no inline script, style or data URL.
export default defineConfig({
  base: './',
  build: {
    target: 'es2022',
    outDir: '../../packages/console/web',
    emptyOutDir: true,
    modulePreload: false,
    assetsInlineLimit: 0,
    assetsDir: 'console/assets',
    reportCompressedSize: false,
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
});
