// Databases of other gateways according to their published schemas: One API and New API by their GORM models, on each database that
// they support, LiteLLM by its schema.prisma. They have only the used columns, and easily checked accounts and amounts.

import { Database } from 'bun:sqlite'
import { SQL } from 'bun'
import { hashSecret } from '../../../src/accounts/keys'
import { type DatabaseKind, postgresUrl, temporaryFolder } from './databases'
import { mysqlUrl } from './mariadb'

type Value = string | number | bigint | boolean | null
type Rows = Record<string, Record<string, Value>[]>

/** Secrets as callers send them. */
export const theirSecrets = {
  alice: `sk-${'Ab3'.repeat(16)}`,
  limited: `sk-${'Cd4'.repeat(16)}`,
  spent: `sk-${'Ef5'.repeat(16)}`,
  bob: `sk-${'Gh6'.repeat(16)}`,
  gone: `sk-${'Ij7'.repeat(16)}`,
  lasting: `sk-${'Kl8'.repeat(16)}`,
  disabled: `sk-${'Mn9'.repeat(16)}`,
  otherGroup: `sk-${'Op1'.repeat(16)}`,
  eitherGroup: `sk-${'Qr2'.repeat(16)}`,
  noGroup: `sk-${'St3'.repeat(16)}`,
}
const bare = (secret: string) => secret.slice('sk-'.length)

/** The largest integer of these databases, which operators use for never. */
const MAX_INTEGER = 9_223_372_036_854_775_807n

/** The types of columns that are not texts, as GORM creates them. */
const numbers =
  /^(id|user_id|role|status|quota|used_quota|redeemed_time|used_user_id|request_count|inviter_id|created_time|accessed_time|expired_time|remain_quota|type|weight|priority|test_time|response_time|aff_quota|plan_id|amount_total|amount_used|start_time|end_time|total_amount)$/
const switches = /^(unlimited_quota|model_limits_enabled|cross_group_retry)$/

/** Databases that One API and New API run on. */
export type TheirDatabase = DatabaseKind | 'mysql'

/** How each database writes types, names and values. */
const DIALECTS = {
  sqlite: { number: 'integer', switch: 'numeric', time: 'datetime', key: 'text', text: 'text', quote: '"' },
  postgres: {
    number: 'bigint',
    switch: 'boolean',
    time: 'timestamptz',
    key: 'varchar(128)',
    text: 'text',
    quote: '"',
  },
  mysql: {
    number: 'bigint',
    switch: 'tinyint(1)',
    time: 'datetime(3)',
    key: 'varchar(191)',
    text: 'longtext',
    quote: '`',
  },
} as const

/** Creates a database with these tables. Returns its file or its address. */
async function makeDatabase(kind: TheirDatabase, tables: Rows): Promise<string> {
  const place = await emptyDatabase(kind)
  const dialect = DIALECTS[kind]
  const quoted = (name: string) => `${dialect.quote}${name}${dialect.quote}`
  const typeOf = (name: string, value: Value | undefined) => {
    if (numbers.test(name) && typeof value !== 'string') return dialect.number
    if (switches.test(name)) return dialect.switch
    if (name === 'deleted_at') return dialect.time
    return name === 'key' ? dialect.key : dialect.text
  }
  const statements = Object.entries(tables).flatMap(([table, rows]) => {
    const names = Object.keys(rows[0] ?? {})
    const columns = names.map((name) => `${quoted(name)} ${typeOf(name, rows[0]?.[name])}`)
    const inserts = rows.map((row) => {
      const values = names.map((name) => literal(row[name] ?? null, kind))
      return `insert into ${quoted(table)} values (${values.join(', ')})`
    })
    return [`create table ${quoted(table)} (${columns.join(', ')})`, ...inserts]
  })
  await runAll(place, statements)
  return place
}

/** The file or the address of a database without tables. */
export function emptyDatabase(kind: TheirDatabase): Promise<string> {
  if (kind === 'mysql') return mysqlUrl()
  return kind === 'postgres' ? postgresUrl() : Promise.resolve(`${temporaryFolder()}/one-api.db`)
}

function literal(value: Value, kind: TheirDatabase): string {
  if (value === null) return 'null'
  if (typeof value === 'boolean') return kind === 'postgres' ? String(value) : String(Number(value))
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  const text = value.replaceAll("'", "''")
  return `'${kind === 'mysql' ? text.replaceAll('\\', '\\\\') : text}'`
}

/** Runs statements in a SQLite file, or at the address of a server. */
export async function runAll(place: string, statements: readonly string[]): Promise<void> {
  if (place.startsWith('/')) {
    using database = new Database(place, { create: true })
    for (const statement of statements) database.run(statement)
    return
  }
  await using database = new SQL(place, { max: 1 })
  for (const statement of statements) await database.unsafe(statement)
}

/** A channel of OpenAI's API with its address, and one of an unknown type. */
function channels(baseUrl: string, isNew: boolean) {
  const channel = (id: number, row: Record<string, Value>) => ({
    id,
    type: 1,
    key: 'sk-vendor',
    status: 1,
    name: `channel ${id}`,
    weight: 0,
    created_time: 1_700_000_000,
    test_time: 0,
    response_time: 0,
    base_url: baseUrl,
    other: '',
    models: '',
    group: 'default,vip',
    model_mapping: '',
    priority: 0,
    ...(isNew
      ? { param_override: null, header_override: null, tag: null, channel_info: '' }
      : { config: '', system_prompt: '' }),
    ...row,
  })
  return [
    channel(1, {
      name: 'Main OpenAI',
      // A channel of New API with several keys, one of which it switched off.
      ...(isNew
        ? {
            key: 'sk-vendor-1\nsk-vendor-off\nsk-vendor-2',
            channel_info:
              '{"is_multi_key":true,"multi_key_size":3,"multi_key_status_list":{"1":3},"multi_key_mode":"random"}',
          }
        : { key: 'sk-vendor-1\nsk-vendor-2' }),
      models: 'gpt-4.1-mini,Best-Chat,dall-e-3,text-embedding-3-small',
      model_mapping: '{"Best-Chat":"gpt-4.1-mini"}',
      priority: 10,
      weight: 3,
    }),
    channel(2, { name: 'spare', models: 'gpt-4.1-mini', priority: 10, weight: 1 }),
    channel(3, { name: 'last', models: 'gpt-4.1-mini,never-priced,half-priced,below-nothing', priority: 1 }),
    channel(4, { name: 'asleep', models: 'gpt-4.1-mini', status: 2 }),
    channel(5, { name: 'draws', type: isNew ? 2 : 18, models: 'mj_imagine' }),
    // The channels that only the vip group has: a model, a channel of a model that others have too, and other channels for one.
    channel(6, { name: 'best', models: 'vip-only,gpt-4.1-mini,apart', group: 'vip' }),
    channel(7, { name: 'cheap', models: 'apart', group: 'default' }),
    channel(8, { name: 'home', type: isNew ? 4 : 30, models: 'llama-at-home', group: 'default' }),
  ]
}

/** The database of One API (relational models of model/*.go) or of New API, which adds columns. */
export function makeOneApi(
  kind: TheirDatabase,
  flavor: 'one-api' | 'new-api',
  baseUrl: string,
): Promise<string> {
  const isNew = flavor === 'new-api'
  const user = (id: number, username: string, row: Record<string, Value>) => ({
    id,
    username,
    password: 'hash',
    display_name: username,
    role: 1,
    status: 1,
    email: '',
    quota: 0,
    used_quota: 0,
    request_count: 0,
    group: 'default',
    ...(isNew && { deleted_at: null }),
    ...row,
  })
  const token = (id: number, secret: string, row: Record<string, Value>) => ({
    id,
    user_id: 1,
    key: bare(secret),
    status: 1,
    name: `token ${id}`,
    created_time: 1_700_000_000,
    accessed_time: 0,
    expired_time: -1,
    remain_quota: 0,
    unlimited_quota: true,
    used_quota: 0,
    ...(isNew
      ? { model_limits_enabled: false, model_limits: '', allow_ips: '', group: '', deleted_at: null }
      : { models: '', subnet: '' }),
    ...row,
  })
  const limits = isNew
    ? { model_limits_enabled: true, model_limits: 'Best-Chat,dall-e-3', allow_ips: '10.0.0.0/8\n127.0.0.1' }
    : { models: 'Best-Chat,dall-e-3', subnet: '10.0.0.0/8,127.0.0.1/32' }
  return makeDatabase(kind, {
    users: [
      user(1, 'alice', { quota: 1_234_567, group: 'vip', email: 'alice@example.com' }),
      user(2, 'Bob Müller', { status: 2, quota: 500_000 }),
      user(3, 'gone', isNew ? { deleted_at: '2026-01-01 00:00:00' } : { status: 3 }),
      user(4, 'debtor', { quota: -10 }),
    ],
    tokens: [
      token(1, theirSecrets.alice, { name: 'laptop' }),
      token(2, theirSecrets.limited, {
        unlimited_quota: false,
        remain_quota: 250_000,
        expired_time: 4_000_000_000,
        ...limits,
      }),
      token(3, theirSecrets.spent, { unlimited_quota: false, status: 4 }),
      token(4, theirSecrets.bob, { user_id: 2 }),
      token(5, theirSecrets.gone, { user_id: 3 }),
      token(6, theirSecrets.lasting, { expired_time: MAX_INTEGER, created_time: MAX_INTEGER }),
      token(7, theirSecrets.disabled, { status: 2 }),
    ],
    channels: channels(baseUrl, isNew),
    options: options(isNew),
    redemptions: redemptions(isNew),
    ...(isNew && subscriptionsOfNewApi),
  })
}

/** The rows of model/subscription.go: one that is renewed each month, one that is not, and one that has ended. */
const subscriptionsOfNewApi: Rows = {
  subscription_plans: [
    { id: 1, title: 'Pro', total_amount: 10_000_000, quota_reset_period: 'monthly' },
    { id: 2, title: 'Once', total_amount: 500_000, quota_reset_period: 'never' },
  ],
  user_subscriptions: [
    [1, 1, 10_000_000, 2_500_000, 4_000_000_000, 'active'],
    [4, 2, 500_000, 100_000, 4_000_000_000, 'active'],
    [4, 2, 500_000, 0, 1_700_000_000, 'active'],
    [4, 2, 500_000, 0, 4_000_000_000, 'cancelled'],
  ].map(([user = 0, plan = 0, total = 0, used = 0, end = 0, status = ''], index) => ({
    id: index + 1,
    user_id: user,
    plan_id: plan,
    amount_total: total,
    amount_used: used,
    start_time: 1_600_000_000,
    end_time: end,
    status,
  })),
}

/** Statements that give the debtor tokens of other groups, as New API has them. */
export const tokensOfGroups = [
  [11, theirSecrets.otherGroup, 'vip'],
  [12, theirSecrets.eitherGroup, 'auto'],
  [13, theirSecrets.noGroup, 'cheap'],
].map(
  ([id = '', secret = '', group = '']) =>
    `insert into tokens (id, user_id, key, status, name, expired_time, unlimited_quota, "group")
      values (${id}, 4, '${bare(String(secret))}', 1, 'of ${group}', -1, 1, '${group}')`,
)

/** A code in clear text, as both store it. */
export const theirCode = '0f8fad5bd9cb469fa16570867728950e'

/** The rows of model/redemption.go; New API adds columns. */
function redemptions(isNew: boolean): Rows[string] {
  const code = (id: number, key: string, row: Record<string, Value>) => ({
    id,
    user_id: 1,
    key,
    status: 1,
    name: `gift ${id}`,
    quota: 1_000_000,
    created_time: 1_700_000_000,
    redeemed_time: 0,
    ...(isNew && { used_user_id: 0, deleted_at: null, expired_time: 0 }),
    ...row,
  })
  return [
    code(1, theirCode, {}),
    code(2, 'a'.repeat(32), { status: 3 }),
    code(3, 'SUMMER', {}),
    code(4, 'b'.repeat(32), { quota: 0 }),
  ]
}

function options(isNew: boolean): Rows[string] {
  return [
    { key: 'QuotaPerUnit', value: '500000' },
    {
      key: 'ModelRatio',
      value:
        '{"gpt-4.1-mini":0.2,"Best-Chat":0.3,"never-priced-either":1,"half-priced":1,"below-nothing":-1,"vip-only":5,"apart":1}',
    },
    { key: 'CompletionRatio', value: '{"gpt-4.1-mini":4,"Best-Chat":5,"vip-only":1,"apart":1}' },
    { key: 'GroupRatio', value: '{"default":1,"vip":0.8,"cheap":0.5}' },
    ...(isNew ? [{ key: 'UserUsableGroups', value: '{"default":"","vip":""}' }] : []),
    ...(isNew ? [{ key: 'CacheRatio', value: '{"gpt-4.1-mini":0.25}' }] : []),
  ]
}

/** The PostgreSQL database of LiteLLM with the models of schema.prisma for keys, their owners and their budgets. */
export async function makeLitellm(): Promise<string> {
  const place = await postgresUrl()
  const hash = (secret: string) => `'${hashSecret(secret)}'`
  await runAll(place, [
    `create table "LiteLLM_BudgetTable" ("budget_id" text primary key, "max_budget" double precision, "tpm_limit" bigint,
      "rpm_limit" bigint, "max_parallel_requests" integer, "budget_duration" text)`,
    `create table "LiteLLM_OrganizationTable" ("organization_id" text primary key, "organization_alias" text, "budget_id" text)`,
    `create table "LiteLLM_TeamTable" ("team_id" text primary key, "team_alias" text, "max_budget" double precision,
      "spend" double precision not null default 0, "models" text[], "budget_duration" text,
      "blocked" boolean not null default false, "tpm_limit" bigint, "rpm_limit" bigint, "organization_id" text)`,
    `create table "LiteLLM_UserTable" ("user_id" text primary key, "user_alias" text, "user_email" text,
      "max_budget" double precision, "spend" double precision not null default 0, "models" text[], "budget_duration" text)`,
    `create table "LiteLLM_TeamMembership" ("user_id" text, "team_id" text, "spend" double precision, "budget_id" text)`,
    `create table "LiteLLM_ProjectTable" ("project_id" text primary key, "project_alias" text, "budget_id" text, "models" text[],
      "blocked" boolean not null default false)`,
    `create table "LiteLLM_EndUserTable" ("user_id" text primary key, "budget_id" text, "blocked" boolean not null default false)`,
    `create table "LiteLLM_VerificationToken" ("token" text primary key, "key_name" text, "key_alias" text,
      "spend" double precision not null default 0, "expires" timestamp(3), "models" text[], "user_id" text, "team_id" text,
      "max_parallel_requests" integer, "metadata" jsonb not null default '{}', "blocked" boolean, "tpm_limit" bigint,
      "rpm_limit" bigint, "max_budget" double precision, "budget_duration" text, "model_max_budget" jsonb not null default '{}',
      "budget_id" text, "project_id" text, "created_at" timestamp(3) default now())`,
    `create table "LiteLLM_ProxyModelTable" ("model_id" text primary key, "model_name" text not null, "litellm_params" jsonb)`,
    `create table "LiteLLM_Config" ("param_name" text primary key, "param_value" jsonb)`,
    `insert into "LiteLLM_BudgetTable" values ('tier', 8, 5000, 30, 2, '7d'), ('member', 3, null, 20, null, null),
      ('company', 1000, null, null, null, null)`,
    `insert into "LiteLLM_OrganizationTable" values ('o-1', 'Company', 'company')`,
    `insert into "LiteLLM_TeamTable" values ('t-1', 'Research', 100, 12.345678901, '{best,"no such"}', null, false, 900, 50, 'o-1')`,
    `insert into "LiteLLM_UserTable" values ('u-1', null, 'carol@example.com', 5, 1.5, '{}', '30d'),
      ('u-2', 'Dave', 'dave@example.com', 2, 0, '{}', null)`,
    `insert into "LiteLLM_TeamMembership" values ('u-2', 't-1', 1, 'member')`,
    `insert into "LiteLLM_ProjectTable" values ('p-1', 'Secret', 'tier', '{good}', true)`,
    `insert into "LiteLLM_EndUserTable" values ('e-1', 'tier', false), ('e-2', null, false)`,
    `insert into "LiteLLM_VerificationToken" ("token", "key_name", "key_alias", "models", "team_id", "rpm_limit", "max_budget",
      "budget_duration") values (${hash(theirSecrets.alice)}, 'sk-...b3Ab', 'research-main', '{}', 't-1', 60, 10, '7d')`,
    `insert into "LiteLLM_VerificationToken" ("token", "key_name", "models", "user_id", "expires", "blocked")
      values (${hash(theirSecrets.bob)}, 'sk-...h6Gh', '{all-proxy-models}', 'u-1', '2099-01-01 00:00:00', true)`,
    `insert into "LiteLLM_VerificationToken" ("token", "key_alias", "models", "user_id", "expires", "rpm_limit", "max_budget")
      values (${hash(theirSecrets.lasting)}, 'lasting', '{all-proxy-models}', 'u-1', '99999-01-01 00:00:00', ${MAX_INTEGER}, 1e300)`,
    `insert into "LiteLLM_VerificationToken" ("token", "models", "team_id")
      values (${hash(theirSecrets.gone)}, '{}', 'litellm-dashboard')`,
    `insert into "LiteLLM_VerificationToken" ("token", "key_alias", "models", "user_id", "budget_id")
      values (${hash(theirSecrets.limited)}, 'of-tier', '{cheap-ones}', 'u-1', 'tier')`,
    `insert into "LiteLLM_VerificationToken" ("token", "key_alias", "models", "user_id", "team_id")
      values (${hash(theirSecrets.spent)}, 'of-member', '{}', 'u-2', 't-1')`,
    `insert into "LiteLLM_VerificationToken" ("token", "key_alias", "models", "user_id", "project_id")
      values (${hash(theirSecrets.disabled)}, 'of-project', '{}', 'u-2', 'p-1')`,
    `insert into "LiteLLM_ProxyModelTable" values ('m-1', 'hidden', '{"model":"encrypted"}')`,
    `insert into "LiteLLM_Config" values ('router_settings', '{"content_policy_fallbacks":[{"by-file":["best"]}]}')`,
  ])
  return place
}

/** A config.yaml of LiteLLM. */
export function litellmConfig(baseUrl: string): string {
  return `
model_list:
  - model_name: best
    litellm_params:
      model: openai/gpt-4.1-mini
      api_base: ${baseUrl}
      api_key: os.environ/RESEARCH_KEY
      input_cost_per_token: 0.000001
      output_cost_per_token: 4e-6
  - model_name: best
    litellm_params: { model: openai/gpt-4.1-mini, api_base: ${baseUrl}, api_key: sk-literal, input_cost_per_token: 0.000001, output_cost_per_token: 4e-6, weight: 2 }
  - model_name: built-in
    litellm_params: { model: gpt-4.1-mini, api_base: ${baseUrl}, api_key: os.environ/RESEARCH_KEY }
  - model_name: by-file
    litellm_params: { model: openai/only-in-file, api_base: ${baseUrl}, litellm_credential_name: shared }
    model_info: { access_groups: [cheap-ones] }
  - model_name: long
    litellm_params: { model: openai/gpt-4.1-mini, api_base: ${baseUrl}, api_key: os.environ/RESEARCH_KEY, input_cost_per_token: 1e-6, output_cost_per_token: 4e-6, input_cost_per_token_above_200k_tokens: 2e-6, output_cost_per_token_above_200k_tokens: 6e-6 }
  - model_name: odd
    litellm_params: { model: openai/gpt-4.1-mini, api_base: ${baseUrl}, api_key: os.environ/RESEARCH_KEY, input_cost_per_token: 1e-6, output_cost_per_token: 4e-6, output_cost_per_image: 0.1 }
  - model_name: home
    litellm_params: { model: ollama_chat/llama3 }
  - model_name: hidden-key
    litellm_params: { model: openai/gpt-4.1-mini, litellm_credential_name: stored }
  - model_name: unknown
    litellm_params: { model: sagemaker/thing }
  - model_name: openai/*
    litellm_params: { model: openai/* }
credential_list:
  - credential_name: shared
    credential_values: { api_key: os.environ/RESEARCH_KEY }
router_settings:
  model_group_alias: { good: best }
  context_window_fallbacks: [{ best: [long] }]
litellm_settings:
  fallbacks: [{ built-in: [best] }]
  default_fallbacks: [home]
`
}

/** A price file of LiteLLM. */
export const litellmPrices = `{
  "sample_spec": { "input_cost_per_token": 0 },
  "openai/only-in-file": { "input_cost_per_token": 1.5e-07, "output_cost_per_token": 6e-07, "mode": "chat" }
}`
