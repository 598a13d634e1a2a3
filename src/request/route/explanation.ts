// Reports, in a header on request, which models of a route were skipped or failed, which answered, and which came later because of
// its preference. It must never name an upstream or a price.

import type { RequestLogRow } from '../../request-log/row'

/** The request header, and the response header. */
const ASKED = 'x-gateway-explain'
const ANSWERED = 'x-gateway-route'
const LONGEST = 1_000

/**
 * The response header: `small;passed=context, large;failed=503, big;answered, dear;later=cheapest`. Absent unless the caller asks
 * for it.
 */
export function routeHeaders(
  {
    passedOver,
    attempts,
    model,
    upstream,
    errorCode,
    routeOrder,
  }: Pick<RequestLogRow, 'passedOver' | 'attempts' | 'model' | 'upstream' | 'errorCode' | 'routeOrder'>,
  from: { header?(name: string): string | null },
): Record<string, string> {
  if (from.header?.(ASKED) !== 'route') return {}
  const asked = [...(attempts ?? []), { model, upstream }]
  const later = (routeOrder?.models ?? []).filter(
    (each) => !asked.some((other) => other.model === each.model && other.upstream === each.upstream),
  )
  const steps = [
    ...(passedOver ?? []).map((each) => `${each.model};passed=${each.reason}`),
    ...(attempts ?? []).map((each) => `${each.model};failed=${each.status}`),
    ...(model === null ? [] : [`${model};${errorCode === null ? 'answered' : 'refused'}`]),
    ...later.map((each) => `${each.model};later=${routeOrder?.prefer}`),
  ]
  return { [ANSWERED]: steps.join(', ').slice(0, LONGEST) }
}
