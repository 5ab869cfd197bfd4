/// The style sheet of the document's pages.
enum DocumentStyle {
  static let css = """
    :root {
      color-scheme: light dark;
      --ground: #f6f6f3; --surface: #fff; --line: #e2e1db; --text: #1e1f1d; --quiet: #5d5e58; --accent: #1f5a73;
      --get: #2a6e45; --post: #1f5a73; --put: #855300; --patch: #6b4a9e; --delete: #a8281f;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --ground: #131516; --surface: #1b1e20; --line: #2d3134; --text: #e7e8e5; --quiet: #a2a6a6; --accent: #85c3dc;
        --get: #7cc796; --post: #85c3dc; --put: #e3b35a; --patch: #c0a6ee; --delete: #f39086;
      }
    }
    *, *::before, *::after { box-sizing: border-box; }
    html { -webkit-text-size-adjust: 100%; scroll-padding-top: 1rem; }
    body {
      margin: 0; display: grid; grid-template-columns: 13rem minmax(0, 1fr); background: var(--ground);
      color: var(--text); font: 0.9375rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
    }
    nav { position: sticky; top: 0; max-height: 100vh; overflow: auto; align-self: start; padding: 1.5rem 1rem; }
    nav p { margin: 0 0 0.5rem; font-weight: 600; }
    nav ul { margin: 0; padding: 0; list-style: none; }
    nav li a { display: block; padding: 0.2rem 0; }
    main { padding: 1.5rem 1.5rem 4rem; max-width: 64rem; }
    h1, h2, h3 { line-height: 1.25; overflow-wrap: anywhere; }
    h1 { margin: 0 0 0.5rem; font-size: 1.75rem; }
    h2 { margin: 0 0 0.5rem; font-size: 1.2rem; }
    h3 { margin: 1.25rem 0 0.25rem; font-size: 0.9375rem; }
    p { margin: 0.25rem 0; }
    a { color: var(--accent); }
    section {
      margin: 1.25rem 0; padding: 1rem 1.25rem; background: var(--surface); border: 1px solid var(--line);
      border-radius: 10px;
    }
    section:target { border-color: var(--accent); }
    code, pre { font: 0.8125rem/1.5 ui-monospace, "SF Mono", Menlo, "DejaVu Sans Mono", monospace; }
    code { overflow-wrap: anywhere; }
    pre {
      margin: 0.5rem 0; padding: 0.75rem; overflow-x: auto; background: var(--ground); border: 1px solid var(--line);
      border-radius: 6px;
    }
    .table { overflow-x: auto; margin: 0.5rem 0; }
    table { width: 100%; border-collapse: collapse; }
    th, td { padding: 0.35rem 0.75rem 0.35rem 0; text-align: left; vertical-align: top; }
    th { font-weight: 600; color: var(--quiet); }
    td { border-top: 1px solid var(--line); }
    tr:target td { color: var(--accent); }
    td:first-child { width: 30%; }
    td.status { width: 4rem; }
    .name { margin-right: 0.25rem; }
    summary { cursor: pointer; color: var(--accent); }
    .quiet { color: var(--quiet); }
    .method { font: 600 0.75rem ui-monospace, "SF Mono", Menlo, "DejaVu Sans Mono", monospace; color: var(--get); }
    .post { color: var(--post); }
    .put { color: var(--put); }
    .patch { color: var(--patch); }
    .delete { color: var(--delete); }
    @media (max-width: 45rem) {
      body { display: block; }
      nav { position: static; max-height: none; padding: 1rem 1rem 0; }
      nav ul { display: flex; flex-wrap: wrap; gap: 0 1rem; }
      main { padding: 1rem 1rem 3rem; }
      section { padding: 0.75rem; }
    }

    """
}
