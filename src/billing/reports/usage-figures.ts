// The figures that are summed over charges: in totals of usage, in reports, and in the sums of closed months.

/** The sums of totals and of charges, in the same order. Another figure is another column in each. */
export const SUMS = `count(*) as requests,
  cast(sum(case when state = 0 then 1 else 0 end) as bigint) as released,
  cast(sum(case when usage_source = 1 then 1 else 0 end) as bigint) as counted,
  cast(sum(case when usage_source = 2 then 1 else 0 end) as bigint) as estimated,
  cast(sum(amount) as bigint) as amount, cast(sum(shortfall) as bigint) as shortfall,
  cast(coalesce(sum(cost), 0) as bigint) as cost,
  cast(sum(case when cost is null then 0 else amount end) as bigint) as costed`
export const FIGURES = [
  'requests',
  'released',
  'counted',
  'estimated',
  'amount',
  'shortfall',
  'cost',
  'costed',
] as const
