set title 'A second at the registry, mean of 5 s (shaded: it is away, for 10 s, 2 and 10 minutes)' textcolor '#1f2328'
eval mark_outages
set logscale y
set yrange [10:100000]
set xrange [0:45]
set xlabel 'minutes'
set format y '%.0f'
plot data using ($1 / 60):($2 > 0 ? $2 : 1 / 0) with lines linestyle 1 title 'requests that come', \
     data using ($1 / 60):($3 > 0 ? $3 : 1 / 0) with points pointtype 7 pointsize 0.4 linecolor '#cf222e' title 'turned away for want of a connection', \
     data using ($1 / 60):($4 > 0 ? $4 : 1 / 0) with lines linestyle 2 title 'windows given'
