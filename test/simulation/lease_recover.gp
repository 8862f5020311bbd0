set title 'Share of the members that draw again within a time' textcolor '#1f2328'
set logscale x
set xrange [0.001:100]
set yrange [0:100]
set format y '%g%%'
set xtics ('1 ms' 0.001, '10 ms' 0.01, '100 ms' 0.1, '1 s' 1, '10 s' 10, '100 s' 100)
set key bottom center
plot data using 2:($1 * 100) with steps linestyle 4 title 'restart', \
     data using 3:($1 * 100) with steps linestyle 5 title 'failover, with a take-over', \
     data using 4:($1 * 100) with steps linestyle 2 title 'failover, without', \
     data using 5:($1 * 100) with steps linestyle 1 title 'registry back after 2 minutes', \
     data using 6:($1 * 100) with steps linestyle 3 title 'registry back after 10 minutes'
