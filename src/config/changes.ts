// The differences between two configurations, setting by setting, and those that a running process cannot apply. It must never
// contain a secret: values are shown only where none is possible.

import { isObject } from '../lib/objects'
import type { Config } from './schema'

export interface Change {
  /** The place of the setting: `models.fast.price.per_image`. */
  setting: string
  /** The values as JSON; null if the setting is absent or its value is not shown. */
  before: string | null
  after: string | null
  kind: 'added' | 'removed' | 'changed'
  needsRestart: boolean
}

/** Settings that are read once, when a process starts: its database, the keys of that, where results are stored, its log and metrics. */
const AT_START = [
  'database',
  'databaseReplica',
  'secrets',
  'artifacts',
  'log',
  'metrics',
  'telemetry',
  'admin',
] as const

/** Parts whose values may be shown: nobody has a reason to write a secret there. */
const OPEN_PARTS = new Set([
  'server',
  'models',
  'aliases',
  'plans',
  'usage',
  'statements',
  'markup',
  'responses',
  'webhooks',
  'limitToBalance',
  'realNames',
  'affinity',
])
const OPEN_UPSTREAM_TEXTS = new Set(['kind', 'onAbort'])
const MAX_SHOWN_LENGTH = 60

/** The changes from one configuration to another, in the order of the settings. */
export function changesBetween(before: Config, after: Config): Change[] {
  const changes: Change[] = []
  compare([], before, after, changes)
  return changes
}

/** A configuration that a running process can apply: settings that are read at the start keep their values. */
export function keepingStart(before: Config, after: Config): Config {
  const next: Record<string, unknown> = { ...after }
  for (const name of AT_START) {
    if (before[name] === undefined) delete next[name]
    else next[name] = before[name]
  }
  return next as Config
}

function compare(path: readonly string[], before: unknown, after: unknown, changes: Change[]): void {
  if (Bun.deepEquals(before, after)) return
  if (isObject(before) && isObject(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      compare([...path, name], before[name], after[name], changes)
    }
    return
  }
  changes.push({
    setting: path.join('.'),
    before: shown(path, before),
    after: shown(path, after),
    kind: before === undefined ? 'added' : after === undefined ? 'removed' : 'changed',
    needsRestart: AT_START.some((name) => name === path[0]),
  })
}

function shown(path: readonly string[], value: unknown): string | null {
  if (value === undefined || typeof value === 'object' || !isOpen(path, value)) return null
  const text = JSON.stringify(value)
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH - 1)}…` : text
}

/** A number with its unit, such as `7d`, `12mo` or `10GB`, which is never a secret. */
const MEASURE = /^\d{1,9}(\.\d{1,3})? ?[A-Za-z]{1,2}$/

function isOpen([part = '', , field = '', ...deeper]: readonly string[], value: unknown): boolean {
  if (typeof value === 'string' && MEASURE.test(value)) return true
  if (part !== 'upstreams') return OPEN_PARTS.has(part)
  return deeper.length === 0 && (typeof value !== 'string' || OPEN_UPSTREAM_TEXTS.has(field))
}

/** The parts of a configuration that determine the offer, without secrets: they show only whether a key exists. */
export function offerOf({ models, aliases, realNames, plans, upstreams }: Config): Config {
  const shownUpstreams = Object.entries(upstreams).map(([name, { kind, baseUrl, apiKey }]) => [
    name,
    {
      kind,
      ...(baseUrl !== undefined && { baseUrl: openAddress(baseUrl) }),
      ...(apiKey !== undefined && { apiKey: apiKey === null ? null : 'set' }),
    },
  ])
  return {
    models,
    ...(aliases && { aliases }),
    ...(plans && { plans }),
    ...(realNames !== undefined && { realNames }),
    upstreams: Object.fromEntries(shownUpstreams),
  }
}

/** The URL of a server without possible secrets: some servers expect their key in it. */
function openAddress(url: string): string {
  return url.replace(/[?#].*/s, '').replace(/\/\/[^/]*@/, '//')
}

/** A configuration for display: numbers and switches unchanged, and only those texts that cannot be secrets. */
export function visibleConfig(config: Config): object {
  return visible([], config) as object
}

function visible(path: readonly string[], value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item, index) => visible([...path, String(index)], item))
  if (isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, visible([...path, name], member)]),
    )
  if (typeof value !== 'string' || isOpen(path, value)) return value
  return path.length === 3 && path[0] === 'upstreams' && path[2] === 'baseUrl' ? openAddress(value) : 'hidden'
}
