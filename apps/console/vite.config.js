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
              test: /node_modules\/@?preact|rows\/visible-text|client\/src\/(?:frame-request|quoted-name|http\/)/,
            },
            { name: 'requests', test: /client\/src\/[a-z-]+\.ts|client\/src\/json\/exact|src\/api\/table\.ts/ },
            { name: 'analysis', test: /src\/(?:chart|summary|plan)\/(?!draw|paint|pixels|theme-colours)/ },
            {
              name: 'query',
              test: /src\/(?:query\/(?!Draft)|api\/(?:queries|download|sql-stream|ipc-messages|arrow-)|editor\/(?:vocabulary|sql-tokens|statement-at|error-place)|panes\/EngineSwitch)/,
            },
            {
              name: 'sheets',
              test: /src\/(?:sheets\/(?!Sheets)|panes\/(?:Upload|InfoPane|TsdbTables|EmptyServer|DropArea|make-link)|state\/(?:share-link|palette-items|upload-plan)|api\/upload)/,
            },
          ],
        },
      },
    },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
});
