// Plans as commands name them.

import { type Plan, plansOf } from '../../src/config/models/plans'
import type { Config } from '../../src/config/schema'
import { CommandFailed } from './errors'

export const planArg = {
  type: 'string',
  valueHint: 'PLAN',
  description: 'Use the prices and models of this plan',
} as const

/** A plan of the configuration by its name. */
export function requirePlan({ plans }: Config, name: string): Plan {
  const plan = plansOf(plans).get(name)
  if (plan) return plan
  const known = Object.keys(plans ?? {}).join(', ') || 'none'
  throw new CommandFailed(`There is no plan "${name}". The configuration has: ${known}.`)
}
