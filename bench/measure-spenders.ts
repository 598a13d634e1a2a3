// Processor time per answer for a key that may have spenders, whose requests first name nobody and then a spender, next to a key
// that may have none. All take turns in one process, so that a slow minute of the machine affects each.
import { WHOLE } from './exchange'
import type { SpendersFigures } from './figures'
import { createKey, type GatewaySetup, runCommand } from './gateway'
import type { LoadClient } from './load-client'
import { takeShortTurns } from './measure-affinity'
import type { Amounts } from './options'
import type { Target } from './targets'

const HEADER = 'x-bench-spender'
const RULE = { from: [HEADER], budget_usd: '1000000', budget_period: 'month' }

export async function measureSpenders(
  load: LoadClient,
  setup: GatewaySetup,
  gateway: Target,
  amounts: Amounts,
): Promise<SpendersFigures> {
  const name = 'bench-with-spenders'
  const authorization = `Bearer ${createKey(setup, name, '1000000')}`
  runCommand(setup, ['keys', 'update', name, '--spenders', JSON.stringify(RULE)])
  const unnamed: Target = { ...gateway, headers: { authorization } }
  const named: Target = { ...gateway, headers: { authorization, [HEADER]: 'ann' } }
  const [withoutMicros, unnamedMicros, namedMicros] = await takeShortTurns(load, amounts, [
    [gateway, WHOLE],
    [unnamed, WHOLE],
    [named, WHOLE],
  ])
  return { withoutMicros, unnamedMicros, namedMicros }
}
