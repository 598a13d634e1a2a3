// A row of small bars in a cell of a table, such as the spend of thirty days. The cell shows their sum next to the bars.

interface SparklineProps {
  /** The meaning of the bars, for screen readers. */
  label: string
  values: readonly number[]
}

const BAR_WIDTH = 2
const STEP = 3
const HEIGHT = 18

export function Sparkline({ label, values }: SparklineProps) {
  const most = Math.max(...values)
  if (!(most > 0)) return null
  const width = values.length * STEP - (STEP - BAR_WIDTH)
  return (
    <svg class="sparkline" viewBox={`0 0 ${width} ${HEIGHT}`} width={width} height={HEIGHT} role="img">
      <title>{label}</title>
      {values.map((value, index) => {
        // Every value above zero is visible.
        const height = value > 0 ? Math.max(1, (value / most) * HEIGHT) : 0
        return (
          <rect key={index * STEP} x={index * STEP} y={HEIGHT - height} width={BAR_WIDTH} height={height} />
        )
      })}
    </svg>
  )
}
