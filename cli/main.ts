#!/usr/bin/env bun
// The command line: a list of commands. A command must never be loaded before it is called.

import { defineCommand } from 'citty'
import { runMain } from './lib/run'

const main = defineCommand({
  meta: {
    name: 'gateway',
    description: 'One base URL and one key in front of many AI vendors, with prepaid balances.',
    examples: [
      'gateway serve --sandbox',
      'gateway keys create alice --balance 5',
      'gateway usage --since 30d --by model',
    ],
  },
  subCommands: {
    init: () => import('./commands/init').then((file) => file.init),
    serve: () => import('./commands/serve').then((file) => file.serve),
    restart: () => import('./commands/restart').then((file) => file.restart),
    keys: () => import('./commands/keys').then((file) => file.keys),
    spenders: () => import('./commands/spenders').then((file) => file.spenders),
    accounts: () => import('./commands/accounts').then((file) => file.accounts),
    plans: () => import('./commands/plans').then((file) => file.plans),
    admins: () => import('./commands/admins').then((file) => file.admins),
    contexts: () => import('./commands/contexts').then((file) => file.contexts),
    console: () => import('./commands/console').then((file) => file.consoleCommand),
    sessions: () => import('./commands/sessions').then((file) => file.sessions),
    audit: () => import('./commands/audit').then((file) => file.audit),
    balance: () => import('./commands/balance').then((file) => file.balance),
    codes: () => import('./commands/codes').then((file) => file.codes),
    reconcile: () => import('./commands/reconcile').then((file) => file.reconcile),
    tasks: () => import('./commands/tasks').then((file) => file.tasks),
    requests: () => import('./commands/requests').then((file) => file.requests),
    events: () => import('./commands/events').then((file) => file.events),
    statements: () => import('./commands/statements').then((file) => file.statements),
    receipts: () => import('./commands/receipts').then((file) => file.receipts),
    usage: () => import('./commands/usage').then((file) => file.usage),
    rehearse: () => import('./commands/rehearse').then((file) => file.rehearse),
    models: () => import('./commands/models').then((file) => file.models),
    doctor: () => import('./commands/doctor').then((file) => file.doctor),
    health: () => import('./commands/health').then((file) => file.health),
    upstreams: () => import('./commands/upstreams').then((file) => file.upstreams),
    drill: () => import('./commands/drill').then((file) => file.drill),
    prices: () => import('./commands/prices').then((file) => file.prices),
    env: () => import('./commands/env').then((file) => file.env),
    completions: () => import('./commands/completions').then((file) => file.completions),
    config: () => import('./commands/config').then((file) => file.config),
    backup: () => import('./commands/backup').then((file) => file.backup),
    retention: () => import('./commands/retention').then((file) => file.retention),
    restore: () => import('./commands/restore').then((file) => file.restore),
    import: () => import('./commands/import').then((file) => file.importing),
    upgrade: () => import('./commands/upgrade').then((file) => file.upgrade),
    move: () => import('./commands/move').then((file) => file.move),
  },
})

await runMain(main, process.argv.slice(2))
