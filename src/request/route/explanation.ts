// Reports, in a header on request, which models of a route were skipped or failed, which answered, and which came later because of
// its preference. It must never name an upstream or a price.

import type { RequestLogRow } from '../../request-log/row'

/** The request header, and the response header. */
const REQUEST_HEADER = 'x-gateway-explain'
const RESPONSE_HEADER = 'x-gateway-route'
const MAX_HEADER_LENGTH = 1_000

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
  if (from.header?.(REQUEST_HEADER) !== 'route') return {}
  const tried = [...(attempts ?? []), { model, upstream }]
  const later = (routeOrder?.models ?? []).filter(
    (each) => !tried.some((other) => other.model === each.model && other.upstream === each.upstream),
  )
  const steps = [
    ...(passedOver ?? []).map((each) => `${each.model};passed=${each.reason}`),
    ...(attempts ?? []).map((each) => `${each.model};failed=${each.status}`),
    ...(model === null ? [] : [`${model};${errorCode === null ? 'answered' : 'refused'}`]),
    ...later.map((each) => `${each.model};later=${routeOrder?.prefer}`),
  ]
  return { [RESPONSE_HEADER]: steps.join(', ').slice(0, MAX_HEADER_LENGTH) }
}
