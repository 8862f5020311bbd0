# A background of its own, as the page around it may be light or dark.
set terminal svg size 860,380 dynamic background '#ffffff' font 'system-ui, DejaVu Sans, sans-serif,13' linewidth 1.2
set datafile separator ' '
set key autotitle columnhead
set border 3 linecolor '#59636e'
set tics nomirror textcolor '#1f2328'
set grid linecolor '#d8dee4' linetype 1 linewidth 0.6
set key top right textcolor '#1f2328' samplen 2
set style line 1 linecolor '#0969da' linewidth 1.6
set style line 2 linecolor '#bc4c00' linewidth 1.2
set style line 3 linecolor '#59636e' linewidth 1.2
set style line 4 linecolor '#1a7f37' linewidth 1.6
set style line 5 linecolor '#8250df' linewidth 1.6
away(number, from, to) = sprintf("set object %d rectangle from first %f, graph 0 to first %f, graph 1 behind fillcolor '#ffebe9' fillstyle solid noborder", number, from, to)
mark_outages = away(1, 5, 5 + 10 / 60.0) . ';' . away(2, 10, 12) . ';' . away(3, 20, 30)
