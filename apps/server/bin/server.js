#!/usr/bin/env node
require('../bundle/load.cjs').load('server.cjs');
