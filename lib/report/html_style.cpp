#include "report/html.hpp"

namespace culprit::report {

// Colours are pairs for light and dark; text on its ground has a contrast of 4.5 and more, marks
// of 3.
constexpr const char kHtmlStyle[] =
    R"(:root{color-scheme:light dark;--ground:#fff;--panel:#f6f7f9;--ink:#1b1f24;--soft:#57606a;--line:#d5dae0;
--red:#c4242d;--orange:#b35300;--blue:#1860b8;--green:#1a7436;--violet:#7a3fb5;--grey:#6b7480;--pale:#e3e7ec;--shade:#fbe3c4}
@media(prefers-color-scheme:dark){:root{--ground:#12161b;--panel:#1b2128;--ink:#e5e9ee;--soft:#a0a9b4;--line:#353d47;
--red:#ff7b77;--orange:#f4a250;--blue:#74b2ff;--green:#5fcf84;--violet:#c79bf5;--grey:#939daa;--pale:#303841;--shade:#4a3717}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main,footer{max-width:64rem;margin:0 auto;padding:1rem 1.25rem}
h1{font-size:1.75rem;line-height:1.2;margin:.1rem 0 .5rem;overflow-wrap:anywhere}
h2{font-size:1.2rem;margin:0 0 .35rem}
h3{font-size:1rem;margin:1.1rem 0 .2rem;overflow-wrap:anywhere}
p{margin:.3rem 0}
section{margin:2rem 0 0;padding-top:1rem;border-top:1px solid var(--line)}
.lead,.soft,small{color:var(--soft)}
.lead{margin:0 0 .6rem;font-size:.92rem}
.verdict{border:0;border-left:.5rem solid var(--mark);background:var(--panel);padding:1rem 1.25rem;margin:.5rem 0 0;border-radius:.3rem}
.action{color:var(--mark);font-weight:700;letter-spacing:.06em;margin:0}
.summary{font-size:1.08rem;margin:.2rem 0 .6rem;overflow-wrap:anywhere}
.red{--mark:var(--red)}.orange{--mark:var(--orange)}.blue{--mark:var(--blue)}.green{--mark:var(--green)}.grey{--mark:var(--grey)}
.facts{display:flex;flex-wrap:wrap;gap:.3rem 2rem;margin:.6rem 0 0}
.facts div{min-width:0}
dt{color:var(--soft);font-size:.82rem}
dd{margin:0;overflow-wrap:anywhere}
.verdict+div h2{margin-top:1.2rem}
dl.facts dt,dl.facts dd{display:block}
.targets{list-style:none;margin:.3rem 0;padding:0}
.targets li{margin:.15rem 0;overflow-wrap:anywhere}
.next{margin:.3rem 0 0;padding-left:1.2rem}
.next li{margin:.35rem 0;overflow-wrap:anywhere}
code,pre,.mono{font:.86rem/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
code{background:var(--pale);padding:.1rem .3rem;border-radius:.2rem;overflow-wrap:anywhere}
code.copy{display:inline-block;vertical-align:top;padding:.3rem .55rem;user-select:all;-webkit-user-select:all}
code.copy::before{content:"$ ";color:var(--soft);user-select:none;-webkit-user-select:none}
pre{margin:.3rem 0;padding:.4rem .6rem;background:var(--panel);border-left:3px solid var(--line);white-space:pre-wrap;overflow-wrap:anywhere}
.scroll{overflow-x:auto}
.scroll:focus-visible{outline:2px solid var(--blue)}
table{border-collapse:collapse;width:100%;font-size:.92rem}
caption{text-align:left;color:var(--soft);padding:.2rem 0}
th,td{text-align:left;vertical-align:top;padding:.3rem .8rem .3rem 0;border-bottom:1px solid var(--line);overflow-wrap:break-word}
th.mono,td.mono{overflow-wrap:anywhere}
thead th{color:var(--soft);font-weight:600;font-size:.82rem}
th[scope=row]{font-weight:600}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap;overflow-wrap:normal}
td.keep{white-space:nowrap;overflow-wrap:normal}
details{margin:.4rem 0}
summary{cursor:pointer;padding:.15rem 0;overflow-wrap:anywhere}
summary:focus-visible{outline:2px solid var(--blue)}
.tag{display:inline-block;font-size:.75rem;font-weight:600;color:var(--mark);border:1px solid var(--mark);border-radius:.2rem;padding:0 .35rem;vertical-align:.08em}
.swatch{display:inline-block;width:.85rem;height:.85rem;border-radius:.15rem;vertical-align:-.1em;margin-right:.4rem;border:1px solid var(--line)}
.key{white-space:nowrap;margin-right:.8rem}
svg{display:block;width:100%;height:auto;font:12px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
svg.bar{height:1.6rem}
.wide svg{min-width:44rem}
svg text{fill:var(--ink)}svg .dim{fill:var(--soft)}svg .rule{stroke:var(--line);fill:none}svg .axis{stroke:var(--soft);fill:none}
.f-red{fill:var(--red);background:var(--red)}.f-orange{fill:var(--orange);background:var(--orange)}.f-blue{fill:var(--blue);background:var(--blue)}
.f-green{fill:var(--green);background:var(--green)}.f-violet{fill:var(--violet);background:var(--violet)}.f-grey{fill:var(--grey);background:var(--grey)}
.f-pale{fill:var(--pale);background:var(--pale)}.f-none{fill:none;background:none;stroke:var(--line)}.f-shade{fill:var(--shade);background:var(--shade)}
a{color:var(--blue)}
:target{outline:2px solid var(--blue);outline-offset:.2rem}
.node{fill:var(--panel);stroke:var(--grey)}.culprit{stroke:var(--red);stroke-width:2.5}.wait{fill:none;stroke:var(--grey);stroke-width:1.5}.cut{stroke-dasharray:2 5}.head{fill:var(--grey)}
svg text.strong{font-weight:700}svg text.inv{fill:var(--ground);font-weight:600}.tile{stroke:var(--line)}
.panels{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(17rem,100%),1fr));gap:1rem 1.5rem}
figure{margin:0;min-width:0;break-inside:avoid}figcaption{font-size:.88rem;color:var(--soft);overflow-wrap:anywhere}figcaption strong{color:var(--ink)}
.suspect{fill:none;stroke:var(--red);stroke-width:2}.norm{fill:none;stroke:var(--violet);stroke-width:1.5}
.saved{fill:var(--green)}.unsaved{fill:var(--red)}.loaded{fill:var(--violet)}.cleared{fill:none;stroke:var(--green);stroke-width:2}.open{stroke:var(--red);stroke-width:2;stroke-dasharray:6 4}
.box{fill:none;stroke:var(--red);stroke-width:2}
svg text.on{fill:var(--ground);font-weight:700;text-anchor:middle}
svg text.mid{text-anchor:middle}svg text.end{text-anchor:end}
.curve{fill:none;stroke:var(--blue);stroke-width:1.5}.high{fill:none;stroke:var(--grey);stroke-width:1;opacity:.55}.base{stroke:var(--green);stroke-dasharray:5 4;fill:none}
.again{stroke:var(--violet);stroke-dasharray:2 3}.first{stroke:var(--red);stroke-dasharray:3 3}.doubt{stroke:var(--soft);stroke-width:1}
@media(max-width:40rem){main,footer{padding:.75rem .85rem}h1{font-size:1.4rem}table.stack thead{position:absolute;left:-99rem}
table.stack tr{display:block;border-bottom:1px solid var(--line);padding:.35rem 0}table.stack th,table.stack td{display:block;overflow-wrap:anywhere;border:0;padding:.05rem 0}
table.stack td:empty{display:none}table.stack td.n{text-align:left}table.stack td.n,table.stack td.keep{display:inline-block;margin-right:.5rem;color:var(--soft)}}
@media print{@page{size:A4;margin:14mm}body{font-size:10.5pt;print-color-adjust:exact;-webkit-print-color-adjust:exact}main,footer{max-width:none;padding:0}
.wide svg{min-width:0}section,.verdict{break-inside:auto}h2,h2+p,h3,thead{break-after:avoid}tr,svg,pre{break-inside:avoid}.scroll{overflow:visible}}
)";

}  // namespace culprit::report
