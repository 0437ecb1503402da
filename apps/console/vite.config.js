import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** Chunks have no style sheets and no preloads of their own: what Vite calls to load them has nothing else to do. */
const plainImports = {
  name: 'plain-imports',
  enforce: 'pre',
  load: (id) => (id === '\0vite/preload-helper.js' ? 'export const __vitePreload = (load) => load();' : undefined),
};

// The output is served with a strict content security policy: no inline script, style or data URL.
export default defineConfig({
  base: './',
  plugins: [plainImports],
  // The source, as for the other bundles: a start compiles no package.
  resolve: {
    alias: {
      '@svc/arrow': fileURLToPath(new URL('../../packages/arrow/src/index.ts', import.meta.url)),
      '@svc/client/internal': fileURLToPath(new URL('../../packages/client/src/internal.ts', import.meta.url)),
    },
  },
  build: {
    target: 'es2022',
    modulePreload: false,
    assetsInlineLimit: 0,
    // One style sheet: the code that loads several of them is larger than what they would save.
    cssCodeSplit: false,
    assetsDir: 'console/assets',
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        // Code that is used together is one file: it compresses better, and is loaded by one request.
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [
            {
              name: 'base',
              test: /node_modules\/@?preact|rows\/row-source|src\/api\/api\.ts|client\/src\/(?:rows|http\/)/,
            },
            {
              name: 'requests',
              test: /client\/src\/[a-z-]+\.ts|client\/src\/json\/exact|src\/api\/statements\.ts/,
            },
            { name: 'analysis', test: /src\/chart\/(?!draw|pixels)/ },
            {
              name: 'query',
              test: /src\/(?:type-names|query\/(?!Draft)|api\/(?:download|sql-stream|arrow-reader)|editor\/(?:vocabulary|statement-at))/,
            },
            {
              name: 'sheets',
              test: /src\/(?:panes\/(?:sheets|share-link|Upload|InfoPane|TsdbTables|EmptyServer)|widgets\/Dialog|state\/(?:lifetimes|palette-items)|api\/upload)/,
            },
          ],
        },
      },
    },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
});
