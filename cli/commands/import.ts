// gateway import: moves in from another gateway. Without --yes it only shows what would be imported; the other gateway's database
// is never written to.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { defineCommand } from 'citty'
import { gatewayTime } from '../../src/app/clock'
import { newId, randomBytes } from '../../src/app/world'
import { hintOfCode } from '../../src/billing/selling/codes'
import type { Db } from '../../src/db/db'
import { lineOf } from '../../src/lib/error-line'
import { formatUsd } from '../../src/lib/money'
import { commandArgs, type SettingsFlags, withDatabase } from '../configuration/settings'
import { carryOut, type Plan, planImport } from '../import/carry'
import { configText, environmentText, faultsOfFound } from '../import/config-text'
import type { Found } from '../import/found'
import { readLitellm } from '../import/litellm'
import { entriesIn } from '../import/litellm-costs'
import { readOneApi } from '../import/one-api'
import { openSource } from '../import/source'
import { auditedDb } from '../lib/actor'
import { CommandFailed, WrongUsage } from '../lib/errors'
import { print, printJson, say } from '../view/output'
import { renderTable } from '../view/table'

const MAX_SHOWN = 20

const importArgs = {
  yes: { type: 'boolean', description: 'Import; without this nothing is changed' },
  source: {
    type: 'string',
    valueHint: 'NAME',
    description: 'A name for the other gateway, if you import several of its kind',
  },
  merge: { type: 'boolean', description: 'Also add to accounts of the same name from another source' },
  'write-config': {
    type: 'string',
    valueHint: 'FILE',
    description: 'Write a configuration with its upstreams, models and prices',
  },
  'write-env': {
    type: 'string',
    valueHint: 'FILE',
    description: 'Write the keys of its upstreams as variables, to a file that only you can read',
  },
  ...commandArgs,
} as const

interface ImportFlags extends SettingsFlags {
  yes?: boolean | undefined
  source?: string | undefined
  merge?: boolean | undefined
  'write-config'?: string | undefined
  'write-env'?: string | undefined
  json?: boolean | undefined
}

function ofOneApi(flavor: 'one-api' | 'new-api', title: string) {
  return defineCommand({
    meta: {
      name: flavor,
      description: `Import from ${title}: its SQLite file, a dump of its MySQL, or the URL of its PostgreSQL or MySQL.`,
      examples: [
        `gateway import ${flavor} /srv/${flavor}/one-api.db`,
        `gateway import ${flavor} /srv/${flavor}/one-api.db --write-config gateway.config.ts --write-env upstreams.env`,
        `gateway import ${flavor} mysql://reader@db.example.com/oneapi`,
        `gateway import ${flavor} oneapi.sql`,
        `gateway import ${flavor} postgres://reader@db.example.com/oneapi --yes`,
      ],
    },
    args: {
      database: {
        type: 'positional',
        required: true,
        description: 'The SQLite file, the dump or the URL',
      },
      ...importArgs,
    },
    run: ({ args }) =>
      moveIn(args, flavor, async () => {
        const database = openSource(args.database)
        return readOneApi(database, flavor, Date.now()).finally(() => database.close())
      }),
  })
}

const litellm = defineCommand({
  meta: {
    name: 'litellm',
    description: 'Import from LiteLLM: keys and budgets of its PostgreSQL, models of its config.yaml.',
    examples: [
      'gateway import litellm postgres://reader@db.example.com/litellm --models config.yaml',
      'gateway import litellm --models config.yaml --prices model_prices_and_context_window.json --write-config gateway.config.ts',
    ],
  },
  args: {
    database: { type: 'positional', required: false, description: 'The URL of its PostgreSQL database' },
    models: { type: 'string', valueHint: 'FILE', description: 'Its config.yaml' },
    prices: {
      type: 'string',
      valueHint: 'FILE',
      description:
        'Its price file, model_prices_and_context_window.json, for models without a price of their own',
    },
    ...importArgs,
  },
  async run({ args }) {
    const { database: address, models, prices } = args
    if (address === undefined && models === undefined)
      throw new WrongUsage('Give the address of its database, its config.yaml with --models, or both.')
    await moveIn(args, 'litellm', async () => {
      const database = address === undefined ? undefined : openSource(address)
      const configText = models === undefined ? undefined : readText(models)
      const entries = prices === undefined ? undefined : pricesIn(prices)
      return readLitellm(database, { configText, prices: entries }).finally(() => database?.close())
    })
  },
})

function pricesIn(file: string): ReturnType<typeof entriesIn> {
  const text = readText(file)
  try {
    return entriesIn(text)
  } catch (error) {
    throw new CommandFailed(`${file} is not a price file of LiteLLM: ${lineOf(error)}.`)
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new CommandFailed(`${file} cannot be read: ${lineOf(error)}.`)
  }
}

async function moveIn(flags: ImportFlags, kind: string, read: () => Promise<Found>): Promise<void> {
  const { 'write-config': configFile, 'write-env': environmentFile } = flags
  for (const file of [configFile, environmentFile])
    if (file !== undefined && existsSync(file))
      throw new CommandFailed(`${file} is there already: name another file.`)
  const found = await read()
  await withDatabase(flags, async (db) => {
    const source = flags.source === undefined ? kind : `${kind} ${flags.source}`
    const plan = await planImport(db, found, { source, isMerging: flags.merge === true })
    const faults = faultsOfFound(found)
    plan.left.push(...faults.map((why) => ({ what: 'the configuration', why })))
    if (flags.yes) await carryAll(db, plan, kind)
    if (flags.json) printJson(reportOf(found, plan, flags.yes === true))
    else showPlan(found, plan)
    if (configFile !== undefined) writeFileSync(configFile, configText(found, kind), { flag: 'wx' })
    if (environmentFile !== undefined)
      writeFileSync(environmentFile, environmentText(found), { flag: 'wx', mode: 0o600 })
    if (!flags.json) sayNext(found, flags)
  })
}

async function carryAll(db: Db, plan: Plan, kind: string): Promise<void> {
  const now = await gatewayTime(db, Date.now())
  const news = { accounts: countNew(plan.accounts), keys: countNew(plan.keys), codes: countNew(plan.codes) }
  if (news.accounts + news.keys + news.codes === 0) return
  const change = { action: 'import.run', target: `import:${kind}`, after: news }
  await carryOut(await auditedDb(db, change), plan, { now, newId, randomBytes })
}

function countNew(rows: readonly { state: string }[]): number {
  return rows.filter(({ state }) => state !== 'carried').length
}

function reportOf(found: Found, { accounts, keys, codes, left }: Plan, isDone: boolean): object {
  return {
    done: isDone,
    accounts: accounts.map(({ name, state, balanceNano, isFrozen, plan: ofPlan }) => ({
      name,
      state,
      balance_usd: formatUsd(balanceNano),
      frozen: isFrozen,
      plan: ofPlan,
    })),
    keys: keys.map(({ name, account, state, hint, isPaused }) => ({
      name,
      account,
      state,
      hint,
      paused: isPaused,
    })),
    codes: codes.map(({ code, state, amountNano, note }) => ({
      hint: hintOfCode(code),
      state,
      amount_usd: formatUsd(amountNano),
      note,
    })),
    upstreams: found.upstreams.map(({ name, kind, baseUrl, keys: own }) => ({
      name,
      kind,
      base_url: baseUrl ?? null,
      variables: own.map(({ variable }) => variable),
    })),
    models: found.models.map(({ upstreamModel, ...model }) => ({ ...model, upstream_model: upstreamModel })),
    routes: found.routes,
    aliases: found.aliases,
    plans: found.plans,
    left_behind: left,
  }
}

function showPlan(found: Found, plan: Plan): void {
  const total = plan.accounts.reduce((sum, { balanceNano }) => sum + BigInt(balanceNano), 0n)
  const rows = (title: string, all: readonly { state: string }[], more = '') => [
    title,
    String(all.length),
    String(countNew(all)),
    more,
  ]
  print(
    renderTable(
      [{ title: '' }, { title: 'FOUND', align: 'right' }, { title: 'NEW', align: 'right' }, { title: '' }],
      [
        rows('accounts', plan.accounts, `$${formatUsd(total)} in all`),
        rows('keys', plan.keys),
        rows('codes', plan.codes),
        ['upstreams', String(found.upstreams.length), '', 'for the configuration'],
        ['models', String(found.models.length), '', 'for the configuration'],
      ],
    ),
  )
  showSome(
    ['ACCOUNT', 'STATE', 'OPENING BALANCE', 'KEYS'],
    plan.accounts.map(({ name, state, balanceNano, isFrozen }) => [
      name,
      isFrozen ? `${state}, frozen` : state,
      `$${formatUsd(balanceNano)}`,
      String(plan.keys.filter(({ account }) => account === name).length),
    ]),
  )
  showSome(
    ['MODEL', 'UPSTREAM', 'INPUT $/1M', 'OUTPUT $/1M'],
    found.models.map(({ id, upstreams, price }) => [
      id,
      Object.keys(upstreams).join(', '),
      price === 'free' ? 'free' : String(price.per_1m_input_tokens ?? ''),
      price === 'free' ? 'free' : String(price.per_1m_output_tokens ?? ''),
    ]),
  )
  showSome(
    ['NOT IMPORTED', 'REASON'],
    plan.left.map(({ what, why }) => [what, why]),
  )
}

function showSome(titles: readonly string[], rows: readonly (readonly string[])[]): void {
  if (rows.length === 0) return
  const columns = titles.map((title) => ({ title, flexible: true }))
  print(`\n${renderTable(columns, rows.slice(0, MAX_SHOWN))}`)
  if (rows.length > MAX_SHOWN) print(`and ${rows.length - MAX_SHOWN} more; --json shows all`)
}

function sayNext(found: Found, flags: ImportFlags): void {
  if (!flags.yes) say('\nNothing was changed. With --yes accounts, balances, keys and codes are imported.')
  if (found.upstreams.length > 0 && flags['write-config'] === undefined)
    say('With --write-config FILE upstreams, models and prices are written.')
  const variables = found.upstreams.flatMap(({ keys }) => keys.map(({ variable }) => variable))
  if (flags['write-config'] !== undefined && flags['write-env'] === undefined && variables.length > 0)
    say(
      `Set these where the gateway starts, or have them written with --write-env: ${[...new Set(variables)].join(', ')}`,
    )
}

export const importing = defineCommand({
  meta: {
    name: 'import',
    description:
      'Move in from another gateway: accounts, balances, keys that keep working, models with prices.',
  },
  subCommands: {
    'one-api': ofOneApi('one-api', 'One API'),
    'new-api': ofOneApi('new-api', 'New API'),
    litellm,
  },
})
