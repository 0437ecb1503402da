#!/usr/bin/env node
await import('../bundle/svc.js');
