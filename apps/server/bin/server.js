#!/usr/bin/env node
await import('../bundle/server.js');
