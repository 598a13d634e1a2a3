// A text of code or settings in a frame of its own, which scrolls by keyboard too.

export function Code({ label, text }: { label: string; text: string }) {
  return (
    <section class="code-frame" aria-label={label} tabIndex={0}>
      <pre class="code">{text}</pre>
    </section>
  )
}
